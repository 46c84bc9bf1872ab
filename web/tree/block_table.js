// The candidates of one block as a table: what the drawing shows, for readers of text.
function show_block_table(details, tree, number) {
  details.firstChild.textContent = `Candidates of block ${number + 1} as a table`;
  const old = details.querySelector(".scroll");
  if (old) old.remove();
  if (!details.open) return;
  const {model} = tree, scroll = make("div", details, undefined, {class: "scroll", tabindex: 0, role: "region", "aria-label": `Candidates of block ${number + 1}`});
  const table = make("table", scroll);
  table_row(make("thead", table), ["candidate", "score", ...(model.contrast ? ["reward"] : []), "copies", "fate", "tokens of this block"], "th", [5, 4]);
  const body = make("tbody", table);
  for (const node of model.blocks[number].slice(0, 100)) {
    const row = make("tr", body, undefined, node === tree.current ? {"aria-current": "true"} : {});
    button(make("th", row, undefined, {scope: "row"}), String(node.id), () => tree.select(node), {class: "link"});
    for (const text of [fixed(node.score), ...(model.contrast ? [with_sign(node.reward)] : []), node.copies.length, FATES[node.fate] ?? node.fate]) make("td", row, text);
    make("td", row, node.tokens.map(token => model.token_text(token)).join(""), {class: "text"});
  }
  if (model.blocks[number].length > 100) make("p", scroll, `The best 100 of ${model.blocks[number].length}.`, {class: "note"});
}

// A candidate in full: fate, formula, tokens by reward, cumulative reward, and the three prompts.
const FATES = {kept: "went on", pruned: "pruned", duplicate: "duplicate", finished: "finished"};
const PROMPTS = [["base", "Base prompt: the tokens are drawn after this one"], ["positive", "Positive prompt"], ["negative", "Negative prompt"]];

function show_head(parent, tree, node) {
  const {model} = tree, head = make("div", parent, undefined, {class: "candidate-head"});
  make("h2", head, `Candidate ${node.id}`);
  make("span", head, FATES[node.fate] ?? node.fate, {class: `badge ${node.fate}`});
  if (node === model.selected) make("span", head, "the answer", {class: "badge chosen"});
  if (node.copies.length > 1) make("span", head, `\u00d7${node.copies.length}`, {class: "badge", title: `${node.copies.length} beams wrote the same tokens: candidates ${node.copies.join(", ")}`});
  const actions = make("div", parent, undefined, {class: "actions"});
  if (tree.hooks.on_continue)
    button(actions, node.fate === "finished" ? "Take this answer" : "Continue from here", () => tree.hooks.on_continue(node, model), {class: "continue"});
  button(actions, tree.pinned === node ? "Comparing\u2026 choose another" : "Compare", () => tree.pin(node), {class: "pin", "aria-pressed": String(tree.pinned === node)});
  if (model.selected && node !== model.selected) button(actions, "Go to the answer", () => tree.select(model.selected), {class: "home"});
}
function show_facts(parent, model, node) {
  const facts = [["score", fixed(node.score)], ["tokens", whole(node.length)], ["block", `${node.block + 1} of ${model.blocks.length}`],
                 ["place in its block", `${node.row + 1} of ${model.blocks[node.block].length}`]];
  if (node.rank !== undefined) facts.splice(1, 0, ["rank", fixed(node.rank)]);
  if (node.token_positive) facts.push(["reward", with_sign(node.positive - node.negative)]);
  const path = model.path(node);
  if (path.length > 1) facts.push(["score by block", path.map(part => fixed(part.score)).join("  ")]);
  const list = make("dl", parent, undefined, {class: "facts"});
  for (const [name, value] of facts) { make("dt", list, name); make("dd", list, value); }
}
// What a context adds to the base prompt is marked.
function show_prompts(parent, model) {
  const given = PROMPTS.filter(([name]) => (model.prompts[name] ?? []).length);
  if (!given.length) return;
  const details = make("details", parent, undefined, {class: "prompts"});
  make("summary", details, given.length > 1 ? "The three prompts" : "The prompt");
  details.addEventListener("toggle", () => {
    if (details.querySelector(".prompt")) return;
    const base = model.prompt_text("base");
    for (const [name, title] of given) {
      const text = model.prompt_text(name), ranges = name === "base" ? [] : differing_ranges(base, text)[1];
      const box = make("div", details, undefined, {class: "prompt"});
      make("h3", box, `${title} (${plural(model.prompts[name].length, "token")})`);
      const words = make("div", box, undefined, {class: "tokens"});
      let at = 0;
      for (const [from, to] of ranges) {
        words.append(text.slice(at, from));
        make("mark", words, text.slice(from, to));
        at = to;
      }
      words.append(text.slice(at));
    }
  });
}
function show_candidate(parent, tree, node) {
  const {model} = tree, tokens = model.tokens(node), open = new Set([...parent.querySelectorAll("details[open]")].map(e => e.firstChild.textContent));
  parent.replaceChildren();
  show_head(parent, tree, node);
  show_formula(parent, model, node);
  show_tokens(parent, tokens);
  const contrast = tokens.length && tokens.every(token => token.reward !== undefined);
  if (contrast) reward_curve(parent, tokens);
  show_facts(parent, model, node);
  show_prompts(parent, model);
  token_table(parent, tokens);
  for (const details of parent.querySelectorAll("details")) details.open = open.has(details.firstChild.textContent);
}

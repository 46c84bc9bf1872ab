// Tokens in the colours of their rewards, the figures of the one under the mouse, and the cumulative reward as a curve.
function token_facts(token) {
  const lines = [`${JSON.stringify(token.text)}  id ${token.id}`, `base     ${fixed(token.base)}`];
  if (token.reward !== undefined)
    lines.push(`positive ${fixed(token.positive)}`, `negative ${fixed(token.negative)}`, `reward   ${with_sign(token.reward)}`, `sum      ${with_sign(token.cumulative)}`);
  return lines.join("\n");
}
// `ranges`: characters to mark, as from differing_ranges.
function show_tokens(parent, tokens, ranges = []) {
  const box = make("div", parent, undefined, {class: "tokens"});
  let at = 0, next = 0;
  tokens.forEach((token, i) => {
    for (let from = at; from < at + token.text.length; ) {
      while (next < ranges.length && ranges[next][1] <= from) ++next;
      const range = ranges[next], inside = range && range[0] <= from;
      const to = Math.min(at + token.text.length, inside ? range[1] : range ? range[0] : Infinity);
      const span = make("span", box, token.text.slice(from - at, to - at), {
        class: `token${token.first && from === at ? " first" : ""}${inside ? " differs" : ""}`, "data-token": i});
      if (token.reward !== undefined) span.style.background = reward_tint(token.reward);
      from = to;
    }
    at += token.text.length;
  });
  watch_tip(box, target => target.dataset.token === undefined ? undefined : token_facts(tokens[target.dataset.token]));
  return box;
}
// One box for all tips. `words` gives the text for the element under the mouse.
function watch_tip(area, words) {
  area.addEventListener("pointermove", event => show_tip(words(event.target), event.clientX, event.clientY));
  area.addEventListener("pointerleave", () => show_tip());
}
function show_tip(text, x, y) {
  const tip = by_id("tip") ?? make("div", document.body, undefined, {id: "tip", class: "tip", role: "status", "aria-hidden": "true"});
  tip.hidden = !text;
  if (!text) return;
  tip.textContent = text;
  tip.style.left = `${Math.max(4, Math.min(innerWidth - tip.offsetWidth - 8, x + 14))}px`;
  tip.style.top = `${Math.max(4, Math.min(innerHeight - tip.offsetHeight - 8, y + 16))}px`;
}
function reward_curve(parent, tokens) {
  const sums = tokens.map(token => token.cumulative), width = 560, height = 92, left = 44, right = 8, top = 8, bottom = 8;
  const high = Math.max(0, ...sums), low = Math.min(0, ...sums), range = Math.max(1e-6, high - low);
  const x = i => left + (width - left - right) * (i + 1) / Math.max(1, sums.length), y = sum => top + (height - top - bottom) * (high - sum) / range;
  const figure = make("figure", parent, undefined, {class: "curve"});
  make("figcaption", figure, `Cumulative reward ${with_sign(sums.at(-1))} over ${plural(sums.length, "token")}`);
  const drawing = svg("svg", figure, {viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Cumulative reward, token by token; it ends at ${with_sign(sums.at(-1))}`});
  tokens.forEach((token, i) => { if (token.first) svg("path", drawing, {class: "border", d: `M${x(i - 1)},${top}V${height - bottom}`}); });
  svg("path", drawing, {class: "zero", d: `M${left},${y(0)}H${width - right}`});
  const marks = range > 1e-6 ? [...new Set([high, 0, low])] : [0];
  for (const sum of marks.filter(sum => sum === 0 || Math.abs(y(sum) - y(0)) > 13)) svg("text", drawing, {x: left - 6, y: y(sum) + 4, "text-anchor": "end"}, with_sign(sum, 1));
  svg("path", drawing, {class: "sum", d: `M${left},${y(0)}` + sums.map((sum, i) => `L${x(i).toFixed(1)},${y(sum).toFixed(1)}`).join("")});
}
function token_table(parent, tokens) {
  const details = make("details", parent);
  make("summary", details, "Tokens as a table");
  details.addEventListener("toggle", () => {
    if (!details.open || details.querySelector("table")) return;
    const table = make("table", make("div", details, undefined, {class: "scroll", tabindex: 0, role: "region", "aria-label": "Tokens"}));
    const contrast = tokens.some(token => token.reward !== undefined);
    table_row(make("thead", table), ["token", "base", ...(contrast ? ["positive", "negative", "reward", "sum"] : [])], "th");
    const body = make("tbody", table);
    for (const token of tokens)
      table_row(body, [JSON.stringify(token.text), fixed(token.base), ...(contrast && token.reward !== undefined
        ? [fixed(token.positive), fixed(token.negative), with_sign(token.reward), with_sign(token.cumulative)] : [])]);
  });
}

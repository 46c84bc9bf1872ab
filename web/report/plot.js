// What the charts share: a figure that is drawn at its real width, scales, and labels that keep apart.
const FONT = '12px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
const text_width = (() => {
  const context = document.createElement("canvas").getContext("2d");
  return text => {
    context.font = `600 ${FONT}`;
    return context.measureText(text).width;
  };
})();
// The text, cut to fit a width.
function fitted(text, width) {
  if (text_width(text) <= width) return text;
  let length = text.length;
  while (length > 1 && text_width(text.slice(0, length) + "\u2026") > width) --length;
  return text.slice(0, length) + "\u2026";
}
// Round numbers from low to high, about `wanted` of them.
function ticks(low, high, wanted) {
  const rough = (high - low) / wanted, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(s => s * power).find(s => s >= rough * 0.999);
  const list = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9; ++i) list.push(i * step);
  return list;
}
// Adds a figure; draw(place, width) makes its svg, again whenever the width changes.
function add_figure(parent, title, draw) {
  const figure = make("figure", parent), caption = make("figcaption", figure);
  make("span", caption, title);
  const place = make("div", figure, undefined, {class: "plot"});
  button(caption, "SVG", () => save_svg(place.querySelector("svg"), title), {class: "quiet", "aria-label": `Download "${title}" as SVG`});
  let drawn = 0;
  const redraw = force => {
    const width = Math.floor(place.clientWidth);
    if (!width || (width === drawn && force !== true)) return;
    drawn = width;
    place.replaceChildren();
    draw(place, width);
  };
  redraw();
  new ResizeObserver(() => redraw()).observe(place);
  return {figure, redraw: () => redraw(true)};
}
function drawing(place, width, height, label) {
  return svg("svg", place, {width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label});
}
// Moves labels apart: each gets a y at least `gap` below the one before, as near to its own as possible.
function spread(labels, gap, low, high) {
  labels.sort((a, b) => a.y - b.y);
  let last = low - gap;
  for (const label of labels) last = label.at = Math.max(label.y, last + gap);
  let next = high + gap;
  for (const label of labels.toReversed()) next = label.at = Math.min(label.at, next - gap);
}

// Charts of one task: accuracy against compute, pass@k; and the figures that the experiment brings along.
const compute = m => Math.max(1, m.generated_tokens + m.scored_tokens);

function axes(root, {left, right, top, bottom, x, y, xs, ys, xlabel, xtext = String}) {
  for (const v of ys) {
    svg("line", root, {x1: left, x2: right, y1: y(v), y2: y(v), class: "grid"});
    svg("text", root, {x: left - 6, y: y(v) + 4, "text-anchor": "end", class: "faint"}, String(+(100 * v).toFixed(6)));
  }
  for (const v of xs) svg("text", root, {x: x(v), y: bottom + 16, "text-anchor": "middle", class: "faint"}, xtext(v));
  svg("text", root, {x: (left + right) / 2, y: bottom + 32, "text-anchor": "middle", class: "faint"}, xlabel);
}
// Labels go where there is room, the best methods first; the others are named on hover.
function draw_compute(place, width, task) {
  const height = 340, left = 34, right = width - 14, top = 12, bottom = height - 40;
  const costs = task.methods.map(compute), low = Math.min(...task.methods.map(m => m.accuracy.low)), high = Math.max(...task.methods.map(m => m.accuracy.high));
  const from = Math.log10(Math.min(...costs)) - 0.12, to = Math.log10(Math.max(...costs)) + 0.12;
  const first = Math.max(0, low - 0.02), last = Math.min(1, Math.max(high, first + 0.05) + 0.02);
  const x = v => left + (Math.log10(v) - from) / (to - from) * (right - left), y = v => bottom - (v - first) / (last - first) * (bottom - top);
  const root = drawing(place, width, height, `Accuracy against tokens per answer on ${task.task}`);
  const xs = [];
  for (let e = -1; e < 10; ++e) for (const step of [1, 2, 5]) {
    const v = step * 10 ** e, words = whole(v).length * 7 + 10;
    if (v >= 1 && Math.log10(v) >= from && Math.log10(v) <= to && x(v) < right - 10 && (!xs.length || x(v) - x(xs.at(-1)) > words)) xs.push(v);
  }
  axes(root, {left, right, top, bottom, x, y, xs, ys: ticks(first, last, 5), xlabel: width < 480 ? "tokens per answer (log)" : "tokens generated and scored per answer (log)", xtext: whole});
  const taken = task.methods.flatMap(m => [
    {x: x(compute(m)) - 5, y: y(m.accuracy.mean) - 5, w: 10, h: 10},
    {x: x(compute(m)) - 1, y: y(m.accuracy.high), w: 2, h: y(m.accuracy.low) - y(m.accuracy.high)}]);
  for (const m of task.methods) {
    const at = x(compute(m)), g = svg("g", root, {class: "series"});
    svg("title", g, {}, `${m.method}: ${percent(m.accuracy.mean)} at ${whole(compute(m))} tokens`);
    svg("line", g, {x1: at, x2: at, y1: y(m.accuracy.low), y2: y(m.accuracy.high), style: `stroke: ${colour(m.method)}`, "stroke-width": 1.5});
    svg("circle", g, {cx: at, cy: y(m.accuracy.mean), r: 4.5, style: `fill: ${colour(m.method)}`});
  }
  for (const m of task.methods.toSorted((a, b) => b.accuracy.mean - a.accuracy.mean)) {
    const words = names.get(m.method), w = text_width(words), cx = x(compute(m)), cy = y(m.accuracy.mean);
    const box = [[9, 4], [-9 - w, 4], [9, -7], [-9 - w, -7], [9, 15], [-9 - w, 15]].map(([dx, dy]) => ({x: cx + dx, y: cy + dy - 12, w, h: 16})).find(
      b => b.x > left && b.x + b.w < width && b.y > 0 && b.y + b.h < bottom && taken.every(t => b.x > t.x + t.w || b.x + b.w < t.x || b.y > t.y + t.h || b.y + b.h < t.y));
    if (!box) continue;
    taken.push(box);
    svg("title", svg("text", root, {x: box.x, y: box.y + 12, class: "name"}, words), {}, m.method);
  }
}
function draw_pass(place, width, task) {
  const list = task.methods.filter(m => m.pass_at.length > 1), most = Math.max(...list.map(m => m.pass_at.length));
  const label = Math.min(Math.max(...list.map(m => text_width(names.get(m.method)))) + 24, width * 0.45);
  const height = Math.max(300, list.length * 16 + 60), left = 34, right = width - label, top = 12, bottom = height - 40;
  const values = list.flatMap(m => m.pass_at), first = Math.max(0, Math.min(...values) - 0.03), last = Math.min(1, Math.max(...values, first + 0.05) + 0.02);
  const x = k => left + 8 + (k - 1) / (most - 1) * (right - left - 8), y = v => bottom - (v - first) / (last - first) * (bottom - top);
  const root = drawing(place, width, height, `pass@k on ${task.task}`);
  const every = Math.ceil(most / Math.max(2, (right - left) / 34));
  axes(root, {left, right, top, bottom, x, y, xs: Array.from({length: most}, (_, i) => i + 1).filter(k => k === 1 || k % every === 0), ys: ticks(first, last, 5), xlabel: "k"});
  const labels = list.map(m => ({m, x: x(m.pass_at.length), y: y(m.pass_at.at(-1))}));
  spread(labels, 16, top + 6, bottom);
  for (const {m, x: end, y: own, at} of labels) {
    const g = svg("g", root, {class: "series"});
    svg("title", g, {}, `${m.method}: ${m.pass_at.map((v, i) => `pass@${i + 1} ${percent(v)}`).join(", ")}`);
    svg("polyline", g, {points: m.pass_at.map((v, i) => `${x(i + 1)},${y(v)}`).join(" "), fill: "none", style: `stroke: ${colour(m.method)}; fill: none`, "stroke-width": 2});
    m.pass_at.forEach((v, i) => svg("circle", g, {cx: x(i + 1), cy: y(v), r: 3, style: `fill: ${colour(m.method)}`}));
    svg("line", g, {x1: end + 4, y1: own, x2: right + 12, y2: at, class: "leader"});
    svg("text", g, {x: right + 16, y: at + 4, class: "name"}, fitted(names.get(m.method), label - 20));
  }
}
function show_charts(task) {
  const place = by_id("charts");
  place.replaceChildren();
  add_figure(place, `Accuracy against compute: ${task.task}`, (at, width) => draw_compute(at, width, task));
  if (task.methods.some(m => (m.pass_at || []).length > 1)) add_figure(place, `pass@k: ${task.task}`, (at, width) => draw_pass(at, width, task));
}
// The figures that the experiment brings along.
function show_given_figures() {
  const given = data.figures || [];
  by_id("figures").hidden = !given.length;
  for (const figure of given) add_drawing(by_id("given-figures"), figure);
}

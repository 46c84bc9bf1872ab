// Accuracy: a forest plot per task, the same as a table, and the paper's figures beside ours.
const in_order = task => by_id("order").value === "accuracy" ? task.methods.toSorted((a, b) => b.accuracy.mean - a.accuracy.mean) : task.methods;

// One row per method: name, interval, figures. On a narrow screen the interval stands below its name.
function draw_forest(place, width, task) {
  const list = in_order(task), best = best_group(task), stacked = width < 480;
  const label = Math.min(Math.max(...list.map(m => text_width(names.get(m.method)))) + 22, width * (stacked ? 0.6 : 0.42));
  const figures = m => `${percent(m.accuracy.mean)} (${percent(m.accuracy.low)} to ${percent(m.accuracy.high)})`;
  const right = stacked ? 8 : Math.max(...list.map(m => text_width(figures(m)))) + 12, left = stacked ? 8 : label;
  const line = stacked ? 38 : 22, top = 4, height = top + list.length * line + 24;
  const papers = list.map(m => published_value(task, m.method)).filter(v => v !== undefined);
  const low = Math.max(0, Math.min(...list.map(m => m.accuracy.low), ...papers) - 0.02);
  const high = Math.min(1, Math.max(...list.map(m => m.accuracy.high), ...papers, low + 0.05) + 0.02);
  const x = v => left + (v - low) / (high - low) * (width - left - right);
  const root = drawing(place, width, height, `Accuracy on ${task.task}: ${list.map(m => `${names.get(m.method)} ${figures(m)}`).join("; ")}`);
  const bottom = top + list.length * line;
  list.forEach((m, i) => {
    const row = svg("g", root, {class: best.has(m.method) ? "row group" : "row"}), y = top + i * line;
    svg("title", row, {}, `${m.method}: ${figures(m)}, ${m.questions} questions${best.has(m.method) ? "; in the best group" : ""}`);
    svg("rect", row, {x: 0, y, width, height: line, class: best.has(m.method) ? "band" : "", ...(best.has(m.method) ? {} : {fill: "transparent"})});
  });
  for (const v of ticks(low, high, Math.max(2, (width - left - right) / 70))) {
    svg("line", root, {x1: x(v), x2: x(v), y1: top, y2: bottom, class: "grid"});
    svg("text", root, {x: Math.min(Math.max(x(v), 10), width - 10), y: height - 8, "text-anchor": "middle", class: "faint"}, String(+(100 * v).toFixed(6)));
  }
  list.forEach((m, i) => {
    const row = root.querySelectorAll("g.row")[i], y = top + i * line, words = y + 15, middle = stacked ? y + 28 : y + 11;
    if (best.has(m.method)) svg("circle", row, {cx: 7, cy: words - 4, r: 3, class: "mark"});
    svg("text", row, {x: 15, y: words, class: "name"}, fitted(names.get(m.method), label - 20));
    svg("text", row, {x: width - 2, y: words, "text-anchor": "end", class: "value"}, figures(m));
    svg("line", row, {x1: x(m.accuracy.low), x2: x(m.accuracy.high), y1: middle, y2: middle, class: "range"});
    svg("circle", row, {cx: x(m.accuracy.mean), cy: middle, r: 4.5, class: "mark"});
    const paper = published_value(task, m.method);
    if (paper === undefined) return;
    const at = x(paper), mark = svg("path", row, {d: `M${at - 5} ${middle}L${at} ${middle - 5}L${at + 5} ${middle}L${at} ${middle + 5}Z`, class: "paper"});
    svg("title", mark, {}, `the paper: ${percent(paper)}`);
  });
}
function show_forests() {
  const figures = columns.map(task => add_figure(by_id("forests"), task.task === "average" && task === data.summary.average
    ? "Average over tasks (%)" : `${task.task} (%)`, (place, width) => draw_forest(place, width, task)));
  by_id("order").addEventListener("change", () => figures.forEach(figure => figure.redraw()));
  if (data.published.rows.length) by_id("published-mark").textContent = "Hollow: the figure published in the paper.";
}
function show_grid() {
  const table = by_id("grid"), groups = columns.map(best_group);
  table_row(table, ["method", ...columns.map(t => t.task)], "th", [0]);
  for (const method of methods) {
    const row = make("tr", table);
    make("th", row, names.get(method), {scope: "row", title: method});
    columns.forEach((task, i) => {
      const m = of_method(task, method);
      const cell = make("td", row, m ? percent(m.accuracy.mean) + " " : "-", groups[i].has(method) ? {class: "best"} : {});
      if (m) make("small", cell, `${percent(m.accuracy.low)} to ${percent(m.accuracy.high)}`);
    });
  }
  const exports = make("p", by_id("accuracy"), undefined, {class: "controls exports"});
  button(exports, "summary as CSV", () => save("summary.csv", "text/csv", summary_csv()), {id: "summary-csv"});
  button(exports, "differences as CSV", () => save("differences.csv", "text/csv", differences_csv()), {id: "differences-csv"});
}
function show_published() {
  const {columns: columns_of_paper, rows, notes} = data.published, place = by_id("published");
  if (rows.length) {
    make("h3", place, "Beside the paper");
    const table = make("table", make("div", place, undefined, {class: "scroll", tabindex: 0, role: "region", "aria-label": "The paper's figures"}));
    table_row(table, ["the paper", ...columns_of_paper.flatMap(name => [name, "ours"])], "th", [0]);
    for (const r of rows) {
      const line = table_row(table, [r.name]);
      if (r.method) line.title = r.method;
      columns_of_paper.forEach((name, i) => {
        const task = tasks.find(t => t.task === name), m = task && of_method(task, r.method), value = r.values[i];
        make("td", line, value === null ? "-" : percent(value));
        const cell = make("td", line, m ? percent(m.accuracy.mean) + " " : "-");
        if (m) make("small", cell, `${percent(m.accuracy.low)} to ${percent(m.accuracy.high)}`);
      });
    }
  }
  for (const note of notes) make("p", place, `The paper: ${note}`, {class: "note"});
}

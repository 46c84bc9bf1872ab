// The tables of a comparison: accuracy by model and task, the paper's figures, models against each other, the runs.
const chosen = () => {
  const experiment = by_id("experiment").value, model = by_id("model").value, task = by_id("task").value;
  const wanted = by_id("find").value.toLowerCase().split(/\s+/).filter(Boolean);
  const columns = sets.filter(set => set.experiment === experiment && (!model || set.model === model))
    .flatMap(set => tasks_of(set).filter(t => !task || t.task === task).map(t => ({set, task: t})));
  const all = [...new Set(columns.flatMap(c => c.task.methods.map(m => m.method)))];
  const list = all.filter(method => wanted.every(word => method.toLowerCase().includes(word) || names.get(method).toLowerCase().includes(word)));
  return {columns, all, list};
};
function show_accuracy() {
  const {columns, all, list} = chosen(), table = by_id("accuracy-table");
  table.replaceChildren();
  const head = make("thead", table), groups = make("tr", head), second = make("tr", head);
  make("th", groups, "method", {scope: "col", rowspan: 2});
  for (let i = 0; i < columns.length; ) {
    const model = columns[i].set.model, count = columns.filter(c => c.set === columns[i].set).length;
    make("th", groups, model, {scope: "colgroup", colspan: count, class: "group"});
    i += count;
  }
  for (const {task} of columns) make("th", second, task.task, {scope: "col"});
  const best = columns.map(c => best_group(c.task)), body = make("tbody", table);
  for (const method of list) {
    const row = make("tr", body);
    make("th", row, names.get(method), {scope: "row", title: method});
    columns.forEach(({set, task}, i) => {
      const m = of_method(task, method), cell = make("td", row, m ? percent(m.accuracy.mean) : "-", best[i].has(method) ? {class: "best"} : {});
      if (!m) return;
      make("small", cell, `${percent(m.accuracy.low)} to ${percent(m.accuracy.high)}`);
      const paper = published_in(set, task.task, method);
      if (paper !== undefined) make("small", cell, `paper ${percent(paper)}`, {class: "published"});
      cell.title = [`${method}: ${percent(m.accuracy.mean)} on ${plural(m.questions, "question")}, ${plural(m.samples, "sample")}`,
                    set.source(task.task, method)].filter(Boolean).join("; ");
    });
  }
  by_id("count").textContent = list.length === all.length ? plural(all.length, "method") : `${list.length} of ${plural(all.length, "method")}`;
  by_id("sources-note").hidden = by_id("experiment").value !== "";
}
function accuracy_rows() {
  const {columns, list} = chosen();
  return [["model", "task", "method", "questions", "samples", "accuracy", "low", "high", "published"],
          ...columns.flatMap(({set, task}) => list.map(method => of_method(task, method)).filter(Boolean).map(m => [
            set.model, task.task, m.method, m.questions, m.samples, m.accuracy.mean, m.accuracy.low, m.accuracy.high,
            published_in(set, task.task, m.method)]))];
}
function show_beside_paper() {
  const table = by_id("published"), notes = new Set();
  table_row(make("thead", table), ["model", "experiment", "task", "in the paper", "paper", "ours", "ours \u2212 paper"], "th", [0, 1, 2, 3]);
  const body = make("tbody", table);
  for (const set of data.experiments) {
    for (const note of set.published.notes) notes.add(note);
    for (const row of set.published.rows) set.published.columns.forEach((name, i) => {
      if (row.values[i] === null) return;
      const task = set.summary.tasks.find(t => t.task === name), m = task && of_method(task, row.method);
      const line = table_row(body, [set.model, experiment_name(set.experiment), name, row.name, percent(row.values[i])], "td", [1, 2, 3]);
      if (row.method) line.title = row.method;
      const cell = make("td", line, m ? percent(m.accuracy.mean) + " " : "-");
      if (m) make("small", cell, `${percent(m.accuracy.low)} to ${percent(m.accuracy.high)}`);
      make("td", line, m ? signed(m.accuracy.mean - row.values[i]) : "-");
    });
  }
  table.parentElement.hidden = !body.children.length;
  for (const note of notes) make("p", by_id("published-notes"), `The paper: ${note}`, {class: "note"});
  by_id("paper").hidden = !body.children.length && !notes.size;
}
function show_between() {
  const table = by_id("between"), task = by_id("between-task").value, list = data.between_models.filter(d => d.task === task);
  table.replaceChildren();
  const pairs = [...new Set(list.map(d => JSON.stringify([d.b, d.a])))];
  table_row(make("thead", table), ["method", ...pairs.map(pair => JSON.parse(pair).join(" \u2212 "))], "th", [0]);
  const body = make("tbody", table);
  for (const method of [...new Set(list.map(d => d.method))]) {
    const row = make("tr", body);
    make("th", row, name_of(method), {scope: "row", title: method});
    for (const pair of pairs) {
      const d = list.find(x => x.method === method && JSON.stringify([x.b, x.a]) === pair);
      const cell = make("td", row, d && d.questions ? signed(d.difference) : "-", d ? {class: d.p < NOISE ? "sure" : "tie"} : {});
      if (!d || !d.questions) continue;
      make("small", cell, probability(d.p));
      cell.title = `${d.b} minus ${d.a}: ${d.test}, ${plural(d.questions, "question")}`;
    }
  }
}
function show_runs() {
  const table = by_id("runs");
  table_row(make("thead", table), ["folder", "model", "experiment", "tasks", "dtype", "device", "seed", "version", "methods", "samples", "failed", "missing"],
            "th", [0, 1, 2, 3, 4, 5]);
  const body = make("tbody", table);
  for (const run of data.runs) {
    const row = table_row(body, ["", run.model, run.experiment || "-", run.tasks.join(", "), run.dtype, run.device, run.seed, run.version, whole(run.methods),
                                 whole(run.samples), whole(run.failed), whole(run.missing)], "td", [1, 2, 3, 4, 5]);
    if (run.page) make("a", row.cells[0], run.folder, {href: run.page.split("/").map(encodeURIComponent).join("/")});
    else row.cells[0].textContent = run.folder;
  }
}

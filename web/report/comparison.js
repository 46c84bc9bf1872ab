// Puts the page of a comparison together.
function show_head() {
  const rows = new Set(data.models.flatMap(m => m.summary.tasks.flatMap(task => task.methods.map(one => one.method))));
  const many = [[data.runs.length, "run"], [models.length, "model"], [rows.size, "method"]];
  by_id("title").textContent = ["Counterbeam", models.length <= 3 ? models.join(", ") : plural(models.length, "model")].join(" \u00b7 ");
  document.title = `${models.length <= 3 ? models.join(", ") : plural(models.length, "model")} \u00b7 Counterbeam comparison`;
  by_id("about").textContent = `${many.map(([n, word]) => plural(n, word)).join(", ")}; tasks: ${task_names.filter(t => t !== "average").join(", ")}. ` +
    "The folders tables and figures beside this page have every table as CSV and LaTeX and every figure as SVG.";
  const failed = data.runs.reduce((sum, run) => sum + run.failed, 0);
  if (failed) {
    const box = make("div", by_id("failures"), undefined, {class: "alarm", role: "alert"});
    make("b", box, `${plural(failed, "sample")} failed.`);
    box.append(" They were not graded, and no figure below counts them.");
    const causes = make("ul", box), entries = data.models.flatMap(m => (m.summary.failures || []).map(f => ({...f, model: m.label})));
    for (const f of entries.slice(0, 8))
      make("li", causes, `${f.samples} \u00d7 ${clip(f.cause, 300)} (${f.model}, ${f.task}, ${name_of(f.method)})`);
    if (entries.length > 8) make("li", causes, `and ${plural(entries.length - 8, "other cause")}; the summary.json of each run has all`);
  }
  if (!data.notes.length) return;
  const list = make("ul", make("div", by_id("notes"), undefined, {class: "notes", "aria-label": "Notes", role: "region", tabindex: 0}));
  for (const note of data.notes) make("li", list, note);
}
function set_up_filters() {
  options(by_id("experiment"), [["", "all runs"], ...experiments.filter(Boolean).map(e => [e, e])]);
  options(by_id("model"), [["", "all"], ...models.map(m => [m, m])]);
  options(by_id("task"), [["", "all"], ...task_names.map(t => [t, t === "average" ? "average over tasks" : t])]);
  for (const id of ["experiment", "model", "task"]) by_id(id).addEventListener("change", show_accuracy);
  by_id("find").addEventListener("input", show_accuracy);
  by_id("reset").addEventListener("click", () => {
    for (const id of ["experiment", "model", "task", "find"]) by_id(id).value = "";
    show_accuracy();
  });
  by_id("accuracy-csv").addEventListener("click", () => save("accuracy.csv", "text/csv", csv(accuracy_rows())));
  show_accuracy();
  for (const figure of data.figures) add_drawing(by_id("all-figures"), {...figure, svg: data.drawings[figure.name]});
}
function set_up_between() {
  const tasks = [...new Set(data.between_models.map(d => d.task))];
  by_id("between-section").hidden = !tasks.length;
  options(by_id("between-task"), tasks.map(t => [t, t === "average" ? "average over tasks" : t]));
  if (tasks.includes("average")) by_id("between-task").value = "average";
  by_id("between-task").addEventListener("change", show_between);
  show_between();
}
function set_up_details() {
  const shown = sets.filter(set => set.summary.tasks.length);
  by_id("details").hidden = !shown.length;
  if (!shown.length) return;
  const show_task = () => {
    const task = tasks_of(shown[Number(by_id("detail-set").value)])[Number(by_id("detail-task").value)];
    for (const show of [show_matrix, show_costs, show_pass, show_equal, show_charts]) show(task);
  };
  const show_set = () => {
    const list = tasks_of(shown[Number(by_id("detail-set").value)]), select = by_id("detail-task");
    select.replaceChildren();
    options(select, list.map((task, i) => [i, task.task === "average" ? "average over tasks" : task.task]));
    select.value = list.length - 1;
    show_task();
  };
  options(by_id("detail-set"), shown.map((set, i) => [i, `${set.model}: ${set.experiment || "all runs"}`]));
  by_id("detail-set").value = Math.max(0, shown.findIndex(set => set.experiment));  // all runs together have many methods
  by_id("detail-set").addEventListener("change", show_set);
  by_id("detail-task").addEventListener("change", show_task);
  show_set();
}
function set_up_figures() {
  const with_figures = data.experiments.filter(e => e.figures.length);
  by_id("figures").hidden = !with_figures.length;
  const show = () => {
    const experiment = by_id("figure-experiment").value, model = by_id("figure-model").value;
    by_id("given-figures").replaceChildren();
    for (const one of with_figures)
      if ((experiment === "*" || one.experiment === experiment) && (!model || one.model === model))
        for (const figure of one.figures) add_drawing(by_id("given-figures"), {...figure, title: `${experiment_name(one.experiment)}: ${figure.title}`, svg: data.drawings[figure.name]});
  };
  options(by_id("figure-experiment"), [["*", "all"], ...[...new Set(with_figures.map(e => e.experiment))].map(e => [e, experiment_name(e)])]);
  by_id("figure-experiment").value = with_figures.length ? with_figures[0].experiment : "*";
  options(by_id("figure-model"), [["", "all"], ...models.map(m => [m, m])]);
  for (const id of ["figure-experiment", "figure-model"]) by_id(id).addEventListener("change", show);
  show();
}
show_head();
set_up_filters();
show_beside_paper();
set_up_between();
set_up_details();
set_up_figures();
show_runs();
show_sections();

// Puts the page together.
function show_task() {
  const task = columns[Number(by_id("detail-task").value)];
  for (const show of [show_matrix, show_costs, show_pass, show_equal, show_charts]) show(task);
}
options(by_id("detail-task"), columns.map((task, i) => [i, task === data.summary.average ? "average over tasks" : task.task]));
by_id("detail-task").value = columns.length - 1;
by_id("detail-task").addEventListener("change", show_task);
show_provenance();
show_damage();
show_failures();
show_forests();
show_grid();
show_published();
show_given_figures();
for (const id of ["accuracy", "details"]) by_id(id).hidden = !columns.length;  // nothing was graded
show_sections();
if (columns.length) show_task();
set_up_questions();

// The table of questions: filters, order, pages, and the answers of a question when its row is opened.
const PAGE = 50;
const FILTERS = {
  all: ["all", () => true],
  differ: ["methods differ", q => new Set(q.shares.filter(x => x !== undefined)).size > 1],
  none: ["all wrong", q => q.answered > 0 && q.right.every(n => n === 0)],
  some: ["some right", q => q.right.some(n => n > 0)],
  every: ["all right", q => q.answered > 0 && q.shares.every(x => x === undefined || x === 1)],
  truncated: ["truncated", q => q.samples.some(s => s.truncated)],
  unparsed: ["no answer found", q => q.samples.some(s => s.unparsed && s.error === undefined)],
  failed: ["failed", q => q.samples.some(s => s.error !== undefined)],
  graders: ["graders disagree", q => q.samples.some(s => s.strict !== s.correct)],
};
const ORDERS = {
  id: ["id", q => q.index],
  right: ["right", q => q.number_right],
  disagreement: ["split", q => q.disagreement],
  length: ["length", q => q.length],
  tokens: ["tokens", q => q.tokens],
};
const state = {order: "id", down: false, page: 0, list: questions};

const is_right = (q, method) => q.shares[number_of.get(method)] > 0.5;
const is_wrong = (q, method) => q.shares[number_of.get(method)] <= 0.5;  // neither where the method was not run

function filtered() {
  const value = id => by_id(id).value, wanted = value("find").trim().toLowerCase();
  const keep = FILTERS[value("filter")][1], task = value("task"), right = value("right"), wrong = value("wrong");
  return questions.filter(q => (!task || q.task === task) && keep(q) && (!right || is_right(q, right)) && (!wrong || is_wrong(q, wrong)) &&
                               (!wanted || q.searched.includes(wanted)));
}
function ordered(list) {
  const method = number_of.get(state.order);
  const key = method !== undefined ? q => q.shares[method] ?? -1 : ORDERS[state.order][1], sign = state.down ? -1 : 1;
  return list.toSorted((a, b) => sign * (key(a) - key(b)) || a.index - b.index);
}
function update_questions() {
  state.list = ordered(filtered());
  state.page = 0;
  show_page();
}
function sort_by(order) {
  state.down = state.order === order ? !state.down : order !== "id";
  state.order = order;
  update_questions();
  const pressed = [...by_id("questions").querySelectorAll("thead button")].find(b => b.dataset.order === order);
  if (pressed) pressed.focus({preventScroll: true});
}
// Columns of methods that have samples in the task shown.
function shown_methods() {
  const shown = questions.filter(q => !by_id("task").value || q.task === by_id("task").value);
  return methods.filter((_, i) => shown.some(q => q.total[i] || q.failed[i]));
}
function show_head(table, list) {
  const row = make("tr", make("thead", table));
  const heading = (order, text, title, kind) => {
    const cell = make("th", row, undefined, {scope: "col", title, ...(state.order === order ? {"aria-sort": state.down ? "descending" : "ascending"} : {})});
    const arrow = state.order === order ? (state.down ? " \u25be" : " \u25b4") : "";
    button(cell, text + arrow, () => sort_by(order), {"data-order": order, ...(kind ? {class: kind} : {})});
  };
  heading("id", "id", "in the order of the run");
  make("th", row, "question", {scope: "col", class: "words"});
  heading("right", "right", "methods that are right");
  heading("disagreement", "split", "how evenly the methods are split between right and wrong");
  heading("length", "length", "characters of the question");
  heading("tokens", "tokens", "mean tokens of an answer");
  for (const method of list) heading(method, names.get(method), method, "upright");
}
function mark_cell(row, question, method) {
  const i = number_of.get(method), share = question.shares[i], total = question.total[i], failed = question.failed[i];
  const [sign, kind, words] = share === undefined ? (failed ? ["!", "failed", "failed"] : ["\u00b7", "note", "not run"])
    : share === 1 ? ["\u2713", "right", "right"] : share === 0 ? ["\u2717", "wrong", "wrong"]
    : [`${question.right[i]}/${total}`, share > 0.5 ? "right" : "wrong", `${question.right[i]} of ${total} right`];
  const cell = make("td", row, undefined, {class: "mark", title: `${names.get(method)}: ${words}${failed && total ? `, ${failed} failed` : ""}`});
  make("span", cell, sign, {class: kind, role: "img", "aria-label": words});
}
function question_row(body, question, list) {
  const row = make("tr", body, undefined, {class: "row", tabindex: 0, "aria-expanded": false});
  make("td", row, question.id, {class: "id", title: question.id});
  make("td", row, clip(question.question.replace(/\s+/g, " ").trim(), 90), {class: "words"});
  for (const text of [`${question.number_right}/${question.answered}`, percent(4 * question.disagreement).replace(/\.\d$/, "") + " %",
                      whole(question.length), whole(question.tokens)]) make("td", row, text);
  for (const method of list) mark_cell(row, question, method);
  const toggle = () => {
    const open = row.nextSibling && row.nextSibling.classList.contains("detail");
    row.setAttribute("aria-expanded", !open);
    if (open) { row.nextSibling.remove(); return; }
    const detail = make("tr", undefined, undefined, {class: "detail"});
    row.after(detail);
    const place = open_question(make("td", detail, undefined, {colspan: 6 + list.length}), question, by_id("right").value, by_id("wrong").value);
    place.style.width = `${by_id("questions").parentElement.clientWidth - 20}px`;  // in view however wide the table is
  };
  row.addEventListener("click", toggle);
  row.addEventListener("keydown", event => {
    if (event.target !== row || !["Enter", " "].includes(event.key)) return;
    event.preventDefault();
    toggle();
  });
}
function show_page() {
  const table = by_id("questions"), list = shown_methods(), last = Math.max(0, Math.ceil(state.list.length / PAGE) - 1);
  state.page = Math.min(Math.max(0, state.page), last);
  table.replaceChildren();
  show_head(table, list);
  const body = make("tbody", table);
  for (const question of state.list.slice(state.page * PAGE, (state.page + 1) * PAGE)) question_row(body, question, list);
  by_id("count").textContent = `${state.list.length.toLocaleString("en")} of ${plural(questions.filter(q => !by_id("task").value || q.task === by_id("task").value).length, "question")}`;
  by_id("page").textContent = `page ${state.page + 1} of ${last + 1}`;
  by_id("previous").disabled = state.page === 0;
  by_id("next").disabled = state.page === last;
}
function show_questions_with(filter) {
  by_id("task").value = task_names.length > 1 ? "" : task_names[0];
  by_id("filter").value = filter;
  update_questions();
  by_id("browse").scrollIntoView();
}
function set_up_questions() {
  options(by_id("task"), [...(task_names.length > 1 ? [["", "all tasks"]] : []), ...task_names.map(name => [name, name])]);
  options(by_id("filter"), Object.entries(FILTERS).map(([value, [text]]) => [value, text]));
  for (const id of ["right", "wrong"]) options(by_id(id), [["", "any method"], ...methods.map(method => [method, names.get(method)])]);
  by_id("task").value = task_names[0];
  for (const id of ["task", "filter", "right", "wrong"]) by_id(id).addEventListener("change", update_questions);
  by_id("find").addEventListener("input", update_questions);
  by_id("swap").addEventListener("click", () => {
    const [right, wrong] = [by_id("right"), by_id("wrong")], kept = right.value;
    right.value = wrong.value;
    wrong.value = kept;
    update_questions();
  });
  by_id("reset").addEventListener("click", () => {
    for (const id of ["right", "wrong", "find"]) by_id(id).value = "";
    by_id("filter").value = "all";
    update_questions();
  });
  const turn = step => () => { state.page += step; show_page(); };
  by_id("previous").addEventListener("click", turn(-1));
  by_id("next").addEventListener("click", turn(1));
  by_id("questions-csv").addEventListener("click", () => save("questions.csv", "text/csv", questions_csv(state.list)));
  by_id("questions-json").addEventListener("click", () => save("questions.json", "application/json", questions_json(state.list)));
  update_questions();
}

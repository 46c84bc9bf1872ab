// Files for the reader to keep: CSV, JSON and SVG, made in the page and downloaded from a Blob.
function save(name, type, text) {
  const link = make("a", document.body, undefined, {href: URL.createObjectURL(new Blob([text], {type})), download: name});
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
// RFC 4180: cells with separators, quotes or line breaks are quoted.
const csv = rows => rows.map(row => row.map(cell => {
  const text = cell === undefined || cell === null ? "" : String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}).join(",") + "\r\n").join("");
const file_name = text => (text.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^-+|-+$/g, "") || "report").slice(0, 80);

// The drawing with the colours and fonts that the page gives it, so that it reads alone.
function svg_text(drawing) {
  const copy = drawing.cloneNode(true);
  const own = [drawing, ...drawing.querySelectorAll("*")], copies = [copy, ...copy.querySelectorAll("*")];
  own.forEach((element, i) => {
    const style = getComputedStyle(element);
    const wanted = element instanceof SVGTextElement ? ["fill", "font-size", "font-family", "font-weight"] : ["fill", "stroke", "stroke-width", "stroke-dasharray"];
    for (const property of wanted) {
      const value = style.getPropertyValue(property);
      if (value) copies[i].setAttribute(property, value);
    }
    copies[i].removeAttribute("class");
    copies[i].removeAttribute("style");
  });
  copy.setAttribute("xmlns", SVG);
  const ground = svg("rect", undefined, {width: "100%", height: "100%", fill: getComputedStyle(document.body).backgroundColor});
  copy.insertBefore(ground, copy.firstChild);
  return new XMLSerializer().serializeToString(copy);
}
const save_svg = (drawing, name) => save(`${file_name(name)}.svg`, "image/svg+xml", svg_text(drawing));

function summary_csv() {
  const head = ["task", "method", "questions", "samples", "accuracy", "low", "high", "accuracy_strict", "published", "best_group", "truncated",
                "unparsed", "errors", "answer_tokens", "generated_tokens", "scored_tokens", "cached_tokens", "seconds"];
  const most = key => Math.max(0, ...columns.flatMap(task => task.methods.map(m => (m[key] || []).length)));
  const counts = key => Array.from({length: most(key) > 1 ? most(key) : 0}, (_, i) => i);
  const rows = columns.flatMap(task => {
    const best = best_group(task);
    return task.methods.map(m => [
      task.task, m.method, m.questions, m.samples, m.accuracy.mean, m.accuracy.low, m.accuracy.high, (m.accuracy_strict || {}).mean,
      published_value(task, m.method), best.has(m.method) ? 1 : 0, m.truncated, m.unparsed, m.errors, m.answer_tokens,
      m.generated_tokens, m.scored_tokens, m.cached_tokens, m.seconds,
      ...counts("pass_at").map(i => m.pass_at[i]), ...counts("best_of").map(i => m.best_of[i])]);
  });
  return csv([[...head, ...counts("pass_at").map(i => `pass@${i + 1}`), ...counts("best_of").map(i => `best_of_${i + 1}`)], ...rows]);
}
function differences_csv() {
  return csv([["task", "a", "b", "b_minus_a", "p", "test", "questions"],
              ...columns.flatMap(task => task.pairs.map(p => [task.task, p.a, p.b, p.difference, p.p, p.test, p.questions]))]);
}
// One line per sample of the questions shown.
function questions_csv(list) {
  return csv([["task", "id", "method", "sample", "correct", "correct_strict", "truncated", "error", "extracted", "gold", "score", "answer_tokens",
               "generated_tokens", "scored_tokens"],
              ...list.flatMap(q => q.samples.map(s => [q.task, q.id, s.method, s.sample, s.correct, s.strict, s.truncated, s.error, s.extracted, q.gold,
                                                       s.score, s.answer_tokens, s.generated_tokens, s.scored_tokens]))]);
}
const questions_json = list => JSON.stringify(list.map(q => {
  const texts = answers_of(q).map(answer => answer.text);
  return {task: q.task, id: q.id, question: q.question, gold: q.gold, samples: q.samples.map((s, i) => ({...s, answer: texts[i]}))};
}), null, 1);

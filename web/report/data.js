// The data of the report, and what several parts of the page ask of it.
const data = JSON.parse(by_id("data").textContent);
const tasks = data.summary.tasks;
const columns = data.summary.average ? [...tasks, data.summary.average] : tasks;
const methods = [...new Set([...tasks.flatMap(task => task.methods.map(m => m.method)), ...data.methods])];
const names = short_names(methods);
const number_of = new Map(methods.map((method, i) => [method, i]));

// The paper's figure for a method on a task, if it has one.
function published_value(task, method) {
  const column = data.published.columns.indexOf(task.task);
  const row = data.published.rows.find(r => r.method === method);
  return column < 0 || !row ? undefined : row.values[column] ?? undefined;
}

// Questions with their samples; the rows are described in src/eval/report_data.h. Shares are of the graded samples:
// those that failed are neither right nor wrong.
function read_questions() {
  return JSON.parse(by_id("question-data").textContent).map((q, index) => {
    const samples = q.samples.map(([method, sample, flags, score, answer_tokens, generated_tokens, scored_tokens, extracted, rest]) => ({
      method: data.methods[method], sample, score, answer_tokens, generated_tokens, scored_tokens, extracted,
      correct: !!(flags & 1), strict: !!(flags & 2), truncated: !!(flags & 4), unparsed: !!(flags & 8), ...rest}));
    const right = new Array(methods.length).fill(0), total = new Array(methods.length).fill(0), failed = new Array(methods.length).fill(0);
    for (const s of samples) {
      const m = number_of.get(s.method);
      if (s.error !== undefined) { ++failed[m]; continue; }
      ++total[m];
      right[m] += s.correct;
    }
    const shares = right.map((n, i) => total[i] ? n / total[i] : undefined);
    const known = shares.filter(share => share !== undefined), share = mean(known);
    return {
      index, task: q.task, id: q.id, question: q.question || "", gold: q.gold, samples, right, total, failed, shares,
      number_right: known.filter(x => x > 0.5).length, answered: known.length, disagreement: share * (1 - share),
      length: (q.question || "").length, tokens: mean(samples.map(s => s.answer_tokens)),
      searched: [q.id, q.question || "", q.gold || "", ...new Set(samples.map(s => s.extracted))].join("\n").toLowerCase()};
  });
}
const questions = read_questions();
const task_names = [...new Set(questions.map(q => q.task))];  // also those of which every sample failed

// The answers of a question by sample: {text, tokens}, where tokens are the texts and rewards of its tokens if they are
// known. A piece of the answers is parsed when it is first asked for.
const pieces = new Map();
function answers_of(question) {
  const size = data.questions_per_piece, number = Math.floor(question.index / size);
  if (!pieces.has(number)) pieces.set(number, JSON.parse(by_id(`answers-${number}`).textContent));
  const entry = pieces.get(number)[question.index % size];
  const text_of = answer => Array.isArray(answer) ? text_of(answer[0]) : typeof answer === "number" ? text_of(entry[answer]) : answer;
  return entry.map(answer => {
    const text = text_of(answer);
    if (!Array.isArray(answer)) return {text};
    let at = 0;
    return {text, tokens: answer[1].map((length, i) => ({text: text.slice(at, at += length), reward: answer[2][i] === null ? undefined : answer[2][i] / 100}))};
  });
}

// Asks for answers: one request per column, each with its own method and settings, and the search's blocks beside it.
class Asker {
  constructor(api, store, traces, events) {
    Object.assign(this, {api, store, traces, events});  // events: changed(message), grew(message), ended(message)
    this.running = new Map();                           // message id -> AbortController
    this.stopping = new Set();                          // of those, the ones that the reader has stopped
  }
  get busy() { return this.running.size > 0; }

  // Answers to a question, one per column, side by side.
  ask(conversation, question, columns) {
    const group = random_id();
    return columns.map(column => this.begin(conversation, {parent: question.id, group, column: structuredClone(column)}));
  }
  // An answer that begins with a given text: what a candidate of a search has written so far.
  proceed(conversation, parent, column, prefix) {
    return this.begin(conversation, {parent, group: random_id(), column: structuredClone(column), prefix, content: prefix});
  }
  begin(conversation, fields) {
    const first = conversation.chosen[fields.parent], together = first && conversation.messages[first]?.group === fields.group;
    const message = add_message(conversation, {role: "assistant", state: "running", search: random_id(), asked: Date.now(), ...fields});
    if (together) conversation.chosen[fields.parent] = first;  // the first column is the one that is gone on with
    this.run(conversation, message);
    return message;
  }
  request(conversation, message) {
    const turns = path_to(conversation, conversation.messages[message.parent]).map(({role, content}) => ({role, content}));
    const {seed, ...values} = message.column.values, system = conversation.system.trim();
    const body = {model: this.model, messages: [...(system ? [{role: "system", content: system}] : []), ...turns], reasoning_format: "none",
                  search: {method: message.column.method, ...values, id: message.search}};
    if (seed !== undefined) body.seed = seed;
    if (message.prefix) {
      body.messages.push({role: "assistant", content: message.prefix});
      Object.assign(body, {continue_final_message: true, add_generation_prompt: false});
    }
    return body;
  }
  async run(conversation, message) {
    const control = new AbortController(), id = message.search;
    this.running.set(message.id, control);
    this.watch(message, control.signal);
    try {
      const result = await this.api.complete(this.request(conversation, message), text => {
        message.content += text;
        this.events.changed(message);
      }, control.signal);
      Object.assign(message, {state: this.stopping.has(message.id) ? "stopped" : "done", finish: result.finish, cost: result.search ?? {}, usage: result.usage});
    } catch (error) {
      const stopped = error.name === "AbortError" || this.stopping.has(message.id);
      Object.assign(message, stopped ? {state: "stopped"} : {state: "failed", error: error.message});
    }
    this.stopping.delete(message.id);
    message.seconds = (Date.now() - message.asked) / 1000;
    if (this.traced(message)) await this.traces.finish(id);
    this.running.delete(message.id);
    control.abort();  // the events have nothing more to tell
    this.store.save_soon();
    this.events.ended(message);
  }
  traced(message) { return this.catalogue.method(message.column.method)?.traced !== false; }

  watch(message, signal) {
    if (!this.traced(message)) return;
    const model = new TraceModel({settings: this.catalogue.all_values(message.column)});
    this.traces.models.set(message.search, model);
    this.api.events(message.search, (event, data) => {
      if (event !== "block" || message.state !== "running") return;
      model.add_block(data);
      this.events.grew(message, data);
    }, signal).catch(() => {});  // the answer itself says what is wrong
  }
  // The server ends a cancelled search with the best answer so far. Where that takes long, or the reader asks again, the page
  // waits no longer.
  stop() {
    for (const [id, control] of this.running) {
      const message = this.store.conversations.map(one => one.messages[id]).find(one => one);
      if (this.stopping.has(id) || !message) { control.abort(); continue; }
      this.stopping.add(id);
      this.api.cancel(message.search);
      setTimeout(() => control.abort(), 5000);
    }
  }
}

// Traces of searches: in memory while the page is open, and in the browser's database, since they are large. The server keeps
// only the last ones.
class Traces {
  constructor(api) {
    this.api = api;
    this.models = new Map();  // by search id
    this.database = new Promise(done => {
      try {
        const request = indexedDB.open("counterbeam", 1);
        request.onupgradeneeded = () => request.result.createObjectStore("traces");
        request.onsuccess = () => done(request.result);
        request.onerror = () => done(undefined);
      } catch { done(undefined); }
    });
  }
  async stored(mode, action) {
    const database = await this.database;
    if (!database) return undefined;
    return new Promise(done => {
      const transaction = database.transaction("traces", mode), request = action(transaction.objectStore("traces"));
      transaction.oncomplete = () => done(request.result);
      transaction.onabort = transaction.onerror = () => done(undefined);
    });
  }
  read(id) { return this.stored("readonly", store => store.get(id)); }
  write(id, trace) { return this.stored("readwrite", store => store.put(trace, id)); }
  forget(id) { this.models.delete(id); return this.stored("readwrite", store => store.delete(id)); }

  // The model of a search: the one that is growing, the kept one, or the server's. undefined if nobody has it any more.
  async model(id) {
    if (this.models.has(id)) return this.models.get(id);
    try {
      const model = new TraceModel(await this.read(id) ?? await this.fetch(id));
      this.models.set(id, model);
      return model;
    } catch { return undefined; }
  }
  // The search is over: the whole trace replaces what grew.
  async finish(id) {
    try { this.models.set(id, new TraceModel(await this.fetch(id))); } catch { /* what grew is all there is */ }
  }
  // The trace as the server has it, with the texts of its prompts; kept when the search is over.
  async fetch(id) {
    const trace = await this.api.trace(id), prompt_texts = {};
    for (const [name, tokens] of Object.entries(trace.prompts ?? {})) if (tokens.length) prompt_texts[name] = await this.api.detokenize(tokens);
    const whole_trace = {...trace, prompt_texts};
    if (trace.pool?.length) this.write(id, whole_trace);
    return whole_trace;
  }
}

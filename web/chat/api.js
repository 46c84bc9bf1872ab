// The server that served this page. Every call throws an Error whose message is for the reader.
class Api {
  constructor() { this.key = sessionStorage.getItem("counterbeam.key") ?? ""; }
  set_key(key) {
    this.key = key;
    sessionStorage.setItem("counterbeam.key", key);
  }
  async call(path, {method = "GET", body, signal} = {}) {
    const headers = {...(this.key ? {Authorization: `Bearer ${this.key}`} : {}), ...(body ? {"Content-Type": "application/json"} : {})};
    let response;
    try {
      response = await fetch(path, {method, headers, signal, body: body && JSON.stringify(body)});
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Error("The server does not answer. Is it still running?");
    }
    if (response.ok) return response;
    const text = await response.text();
    let message = text.slice(0, 300) || `The server answered ${response.status}.`;
    try { message = JSON.parse(text).error.message; } catch { /* not one of its own errors */ }
    throw Object.assign(new Error(message), {status: response.status});
  }
  async json(path, options) { return (await this.call(path, options)).json(); }

  methods() { return this.json("v1/methods"); }
  trace(id) { return this.json(`v1/searches/${encodeURIComponent(id)}`); }
  async detokenize(tokens) { return (await this.json("detokenize", {method: "POST", body: {tokens}})).prompt; }
  async cancel(id) {
    try { await this.call(`v1/searches/${encodeURIComponent(id)}`, {method: "DELETE"}); } catch { /* it has ended */ }
  }
  // Streams an answer; `on_text` gets what is new. Returns {finish, usage, search}.
  async complete(body, on_text, signal) {
    const response = await this.call("v1/chat/completions", {method: "POST", body: {...body, stream: true, stream_options: {include_usage: true}}, signal});
    const result = {};
    for await (const {data} of server_events(response)) {
      if (data === "[DONE]") break;
      const chunk = JSON.parse(data);
      if (chunk.error) throw new Error(chunk.error.message);
      const [choice] = chunk.choices ?? [];
      if (choice?.delta?.content) on_text(choice.delta.content);
      if (choice?.finish_reason) result.finish = choice.finish_reason;
      if (chunk.usage) result.usage = chunk.usage;
      if (chunk.search) result.search = chunk.search;
    }
    if (!result.finish) throw new Error("The answer broke off: the connection to the server was lost.");
    return result;
  }
  // The blocks of a search while it runs: on_event(name, object). It may be asked for before the search begins.
  async events(id, on_event, signal) {
    for (let attempt = 0; attempt < 40; ++attempt) {
      try {
        const response = await this.call(`v1/searches/${encodeURIComponent(id)}/events`, {signal});
        for await (const {event, data} of server_events(response)) on_event(event, JSON.parse(data));
        return;
      } catch (error) {
        if (error.status !== 404) throw error;
        await new Promise(wait => setTimeout(wait, 250));
      }
    }
  }
}
const random_id = () => [...crypto.getRandomValues(new Uint8Array(12))].map(byte => byte.toString(16).padStart(2, "0")).join("");

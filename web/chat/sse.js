// Server-sent events from a response, as {event, data}. Comment lines keep a connection alive and are skipped.
async function* server_events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "", event = "message", data = [];
  try {
    for (;;) {
      const {value, done} = await reader.read();
      if (done) return;
      const lines = (rest + value).split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop();
      for (const line of lines) {
        if (line === "") {
          if (data.length) yield {event, data: data.join("\n")};
          event = "message";
          data = [];
        } else if (!line.startsWith(":")) {
          const [, name, text] = /^([^:]*):? ?(.*)$/s.exec(line);
          if (name === "event") event = text;
          else if (name === "data") data.push(text);
        }
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

// `serve`: an OpenAI-compatible server for chat clients, evaluation harnesses and programs.
#include "base/error.h"
#include "base/output.h"
#include "base/quote.h"
#include "cli/build.h"
#include "cli/commands.h"
#include "cli/contexts_option.h"
#include "cli/loading.h"
#include "cli/method_options.h"
#include "serve/server.h"

namespace counterbeam::cli {
namespace {

struct ServeOptions {
  std::string host = "127.0.0.1", name, key, key_file, log_format = "text", stop_at = "turn";
  int port = 8080, searches = 16, queue = 256, drain = 300, stall = 30, max_body = 8;
  int connections = 4096;
  bool system_as_user = false, ignore_tools = false;
  std::vector<std::string> aliases, origins, host_names;
  ContextsOption contexts;
};

std::pair<std::string, std::string> alias_of(const std::string& given) {
  const auto equals = given.find('=');
  if (equals == given.npos || equals == 0 || equals + 1 == given.size())
    bad_input("--alias: {} is not ALIAS=METHOD, as in strong=cbs:steer=0.7", in_quotes(given));
  return {given.substr(0, equals), given.substr(equals + 1)};
}

serve::ServerOptions server_options(const ServeOptions& given, const Globals& globals) {
  serve::ServerOptions options;
  options.host = given.host;
  options.port = given.port;
  options.name = given.name;
  options.searches = given.searches;
  options.queue = given.queue;
  options.drain = std::chrono::seconds(given.drain);
  options.system_as_user = given.system_as_user;
  options.ignore_tools = given.ignore_tools;
  options.origins = given.origins;
  options.host_names = given.host_names;
  options.book = given.contexts.book();
  options.version = kVersion;
  options.limits.stall = std::chrono::seconds(given.stall);
  options.limits.body_bytes = static_cast<std::size_t>(given.max_body) << 20;
  options.limits.connections = given.connections;
  for (const std::string& alias : given.aliases) {
    options.aliases.push_back(alias_of(alias));
    parse_method(options.aliases.back().second, options.book);  // an error before the model loads
  }
  if (!given.key.empty() && !given.key_file.empty())
    bad_input("--api-key and --api-key-file: give one of the two");
  if (!given.key.empty()) options.keys.add(given.key, "--api-key");
  if (!given.key_file.empty()) options.keys.add_file(given.key_file);
  options.log = globals.quiet                ? serve::LogFormat::None
                : given.log_format == "json" ? serve::LogFormat::Json
                                             : serve::LogFormat::Text;
  return options;
}

void run_serve(const ServeOptions& given, const Globals& globals) {
  serve::Server server(server_options(given, globals));
  server.handle_signals();
  const LoadedModel model = load_model(globals, given.stop_at);
  server.serve(model, [&] { print_message("listening on {}\n", server.url()); });
}

}  // namespace

Command serve_command(const Globals& globals) {
  const auto options = std::make_shared<ServeOptions>();
  Command command =
      {.name = "serve",
       .summary = "Serve the model over the OpenAI API, with every search method",
       .description =
           "The model NAME is plain sampling; NAME@METHOD[:key=value...] is a search, such as "
           "NAME@cbs:steer=0.7. The page at / is a chat. After SIGTERM or Ctrl-C, running requests "
           "finish and new ones are refused; a second signal ends the server at once. "
           "docs/serving.md has the API.",
       .options =
           {{.name = "--host",
             .value = text(options->host, "ADDRESS"),
             .help = "Address to listen on; 0.0.0.0 for all interfaces, which needs a key here or "
                     "in a proxy"},
            {.name = "--port",
             .value = whole(options->port, 0, 65535),
             .help = "Port to listen on; 0 chooses a free one"},
            {.name = "--name",
             .value = text(options->name, "NAME"),
             .help = "What clients call the model",
             .standard = "the folder's or hub name"},
            {.name = "--alias",
             .value = repeated(options->aliases, "ALIAS=METHOD"),
             .help = "One more model name, for a method with its settings: strong=cbs:steer=0.7"},
            {.name = "--api-key",
             .value = text(options->key, "KEY"),
             .help =
                 "Clients must send this key; other users of this machine can see it, so prefer "
                 "--api-key-file",
             .standard = "none"},
            {.name = "--api-key-file",
             .value = file(options->key_file),
             .help = "A file of keys, one per line; in the queue, each key counts as a client"},
            {.name = "--cors",
             .value = repeated(options->origins, "ORIGIN"),
             .help = "A site whose pages may use this server from a browser, such as "
                     "https://chat.example; * for all",
             .standard = "none"},
            {.name = "--host-name",
             .value = repeated(options->host_names, "NAME"),
             .help = "A name that clients or a proxy ask the server by; on a loopback address "
                     "other names than localhost are refused",
             .standard = "none"},
            {.name = "--searches",
             .value = whole(options->searches, 1, 1024),
             .help = "Searches that run at once; the engine batches them"},
            {.name = "--queue",
             .value = whole(options->queue, 0, 100000),
             .help = "Maximum number of requests that wait; more are refused with 429"},
            {.name = "--connections",
             .value = whole(options->connections, 1, 1000000),
             .help = "Maximum number of open connections"},
            {.name = "--max-body",
             .value = whole(options->max_body, 1, 1024),
             .help = "Maximum size of a request, in MiB"},
            {.name = "--stall-seconds",
             .value = whole(options->stall, 1, 3600),
             .help = "Drop a client that reads nothing for this long while it is sent an answer"},
            {.name = "--drain-seconds",
             .value = whole(options->drain, 0, 86400),
             .help = "When told to end, cancel searches that still run after this time"},
            {.name = "--log-format",
             .value = one_of(options->log_format, {"text", "json"}),
             .help = "One line per request on standard error; -q leaves them out"},
            {.name = "--stop-at",
             .value = one_of(options->stop_at, {"turn", "eos"}),
             .help = "Where answers stop: at the end of a turn too, or at the checkpoint's own end "
                     "tokens alone"},
            {.name = "--system-as-user",
             .value = flag(options->system_as_user),
             .help = "Where the chat template refuses or drops a system message: put it before the "
                     "first message of the user"},
            {.name = "--ignore-tools",
             .value = flag(options->ignore_tools),
             .help = "Answer requests that offer tools without using them, instead of refusing "
                     "them; the page of open-webui always offers some"},
            options->contexts.files_option()},
       .examples = {"counterbeam serve --model Qwen/Qwen2.5-7B-Instruct --port 8080",
                    "counterbeam serve --api-key-file keys.txt --alias strong=cbs:steer=0.7"},
       .run = [options, &globals] { run_serve(*options, globals); }};
  command.sections.push_back(methods_section());
  command.sections.push_back(settings_section());
  return command;
}

}  // namespace counterbeam::cli

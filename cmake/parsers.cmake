# The parsers: the files that turn bytes from outside (model files, data files, requests, replies,
# strings of options) into values, and refuse what is malformed. COUNTERBEAM_COVERAGE (clang) counts
# the branches that tests and fuzz corpora take in them, and in nothing else; tools/coverage prints
# the counts. A program writes them only where LLVM_PROFILE_FILE says.
set(COUNTERBEAM_PARSERS
  base/json.cpp base/json_cursor.cpp base/json_fields.cpp base/utf8.cpp
  tensor/gguf.cpp tensor/safetensors.cpp tensor/shard_index.cpp
  text/added_tokens.cpp text/chat_template_load.cpp text/json_field.cpp text/regex_parse.cpp
  text/token_list.cpp text/tokenizer_file.cpp text/tokenizer_steps.cpp
  text/jinja/lexer.cpp text/jinja/parse_expressions.cpp text/jinja/parse_statements.cpp
  grade/lexer.cpp grade/numeral.cpp grade/parser.cpp grade/primary.cpp
  model/config.cpp model/config_layers.cpp model/config_rope.cpp
  model/gguf_config.cpp model/gguf_fields.cpp model/gguf_rope.cpp model/gguf_tokenizer.cpp
  model/quant_compressed.cpp model/quant_config.cpp
  engine/remote_completions_api.cpp engine/remote_npy.cpp engine/remote_protocol.cpp
  engine/remote_sglang_api.cpp engine/remote_tokens_api.cpp engine/remote_urls.cpp
  search/context_book.cpp search/method_strings.cpp
  eval/data_file.cpp eval/judge_report.cpp eval/own_tasks.cpp eval/paraphrase_file.cpp
  eval/samples.cpp eval/task_rows.cpp
  serve/chat_request.cpp serve/completion_request.cpp serve/fields.cpp
  serve/generation_request.cpp serve/host_names.cpp serve/http.cpp)
# Rooms that no fuzz target enters.
set(COUNTERBEAM_NOT_FUZZED backend cache theory diagnose)

# The compiler is given the list as a file, so that parsers stay in the batches of their room. Its
# name has the digest of its content: another list is another command, and compiles anew.
if(COUNTERBEAM_COVERAGE)
  list(TRANSFORM COUNTERBEAM_PARSERS REPLACE "(.+)" "src:${PROJECT_SOURCE_DIR}/src/\\1\n" OUTPUT_VARIABLE lines)
  list(JOIN lines "" lines)
  string(MD5 digest "${lines}")
  set(COUNTERBEAM_PARSER_LIST ${PROJECT_BINARY_DIR}/parsers-${digest}.list)
  file(CONFIGURE OUTPUT ${COUNTERBEAM_PARSER_LIST} CONTENT "${lines}" @ONLY)  # touched only if it changes
  add_link_options(-fprofile-instr-generate)
endif()

# instrument_room(ROOM): counts branches where the room has parsers, and guides libFuzzer.
function(instrument_room room)
  set(options "")
  if(COUNTERBEAM_COVERAGE AND "${COUNTERBEAM_PARSERS}" MATCHES "(^|;)${room}/")
    list(APPEND options -fprofile-instr-generate=/dev/null -fcoverage-mapping -fprofile-list=${COUNTERBEAM_PARSER_LIST})
  endif()
  if(COUNTERBEAM_FUZZ AND NOT room IN_LIST COUNTERBEAM_NOT_FUZZED)
    list(APPEND options -fsanitize=fuzzer-no-link)
  endif()
  target_compile_options(counterbeam_${room} PRIVATE ${options})
endfunction()

# embed(TARGET NAME FILE): generates a source of the target that defines `extern const
# std::string_view kNAME` with the content of FILE. The source is regenerated when FILE changes.
function(embed target name file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${file})
  file(READ ${PROJECT_SOURCE_DIR}/${file} EMBEDDED_TEXT)
  set(EMBEDDED_NAME ${name})
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  file(CONFIGURE OUTPUT ${generated} @ONLY CONTENT [==[
#include <string_view>
namespace counterbeam {
extern const std::string_view k@EMBEDDED_NAME@;
const std::string_view k@EMBEDDED_NAME@ = R"embedded(@EMBEDDED_TEXT@)embedded";
}  // namespace counterbeam
]==])
  target_sources(${target} PRIVATE ${generated})
endfunction()

# embed(TARGET NAME FILE): FILE becomes `extern const std::string_view kNAME;` of the target, in a
# generated source; it is read again when it changes.
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

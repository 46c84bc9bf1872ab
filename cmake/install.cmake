# `cmake --install build/release --prefix DIR` installs the program with its manual page and
# completions, the library with its header and package file (find_package(counterbeam)), and the
# shipped models and tasks.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

add_library(counterbeam_library INTERFACE)
set_target_properties(counterbeam_library PROPERTIES EXPORT_NAME counterbeam)
target_link_libraries(counterbeam_library INTERFACE counterbeam_eval)
target_include_directories(counterbeam_library INTERFACE
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(counterbeam_library INTERFACE cxx_std_20)

install(TARGETS counterbeam RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# The program writes its own manual page and completions, at the time of installation.
set(generated ${PROJECT_BINARY_DIR}/generated)
install(CODE "
  file(MAKE_DIRECTORY ${generated})
  foreach(what man \"completion bash\" \"completion zsh\" \"completion fish\")
    string(REPLACE \" \" \";\" arguments \"\${what}\")
    string(REPLACE \" \" \".\" name \"\${what}\")
    execute_process(COMMAND $<TARGET_FILE:counterbeam> \${arguments}
                    OUTPUT_FILE ${generated}/\${name} COMMAND_ERROR_IS_FATAL ANY)
  endforeach()")
install(FILES ${generated}/man DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 RENAME counterbeam.1)
install(FILES ${generated}/completion.bash RENAME counterbeam
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${generated}/completion.zsh RENAME _counterbeam
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${generated}/completion.fish RENAME counterbeam.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

install(TARGETS counterbeam_library counterbeam_base counterbeam_tensor counterbeam_text counterbeam_grade
                counterbeam_backend counterbeam_cache counterbeam_model counterbeam_engine
                counterbeam_search counterbeam_eval
        EXPORT counterbeam_targets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(EXPORT counterbeam_targets NAMESPACE counterbeam:: FILE counterbeam_targets.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/counterbeam)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/counterbeam
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/models ${PROJECT_SOURCE_DIR}/tasks
        DESTINATION ${CMAKE_INSTALL_DATADIR}/counterbeam OPTIONAL)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/counterbeam)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/counterbeam-config.cmake.in
  ${PROJECT_BINARY_DIR}/counterbeam-config.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/counterbeam-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/counterbeam-config.cmake
              ${PROJECT_BINARY_DIR}/counterbeam-config-version.cmake DESTINATION ${package_dir})

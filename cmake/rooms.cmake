# room(NAME NEEDS ...): builds one folder of src/, with all its sources, as the library
# counterbeam_NAME.
function(room name)
  cmake_parse_arguments(ROOM "" "" "NEEDS" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  set(reach PUBLIC)
  if(sources)
    add_library(counterbeam_${name} STATIC ${sources})
  else()
    add_library(counterbeam_${name} INTERFACE)
    set(reach INTERFACE)
  endif()
  target_include_directories(counterbeam_${name} ${reach}
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src> $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  target_link_libraries(counterbeam_${name} ${reach} ${ROOM_NEEDS})
endfunction()

# room_test(NAME NEEDS ...): builds tests/NAME/*.cpp as the test program test_NAME.
function(room_test name)
  cmake_parse_arguments(TEST "" "" "NEEDS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(test_${name} ${sources})
  target_include_directories(test_${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  target_compile_definitions(test_${name} PRIVATE
    COUNTERBEAM_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    COUNTERBEAM_BINARY="$<TARGET_FILE:counterbeam>")
  target_link_libraries(test_${name} PRIVATE ${TEST_NEEDS} GTest::gtest_main GTest::gmock)
  add_dependencies(tests test_${name})
  gtest_discover_tests(test_${name} PROPERTIES TIMEOUT 300 DISCOVERY_TIMEOUT 60)
endfunction()

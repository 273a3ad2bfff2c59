# What another CMake project gets from `find_package(etlab)`.
include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(ETLAB_PACKAGE_FOLDER "${CMAKE_INSTALL_LIBDIR}/cmake/etlab")
add_custom_target(etlab_package)  # builds what `cmake --install FOLDER --component devel` installs

# Installs the objects of a library as an archive that users link as etlab::<name>. One that REGISTERS
# kernels or backends is linked whole: nobody names what is in it.
function(etlab_package objects name)
  cmake_parse_arguments(PARSE_ARGV 2 argument "REGISTERS" "" "")
  set(archive ${objects}_archive)
  add_library(${archive} STATIC EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${objects}>)
  set_target_properties(${archive} PROPERTIES
    OUTPUT_NAME ${objects} EXPORT_NAME ${name}_archive LINKER_LANGUAGE CXX)
  add_dependencies(etlab_package ${archive})
  add_library(${objects}_package INTERFACE)
  set_target_properties(${objects}_package PROPERTIES EXPORT_NAME ${name})
  if(argument_REGISTERS)
    target_link_libraries(${objects}_package INTERFACE
      "$<INSTALL_INTERFACE:$<LINK_LIBRARY:WHOLE_ARCHIVE,etlab::${name}_archive>>" etlab_core_package)
  else()
    target_link_libraries(${objects}_package INTERFACE ${archive} Threads::Threads)
    target_include_directories(${objects}_package INTERFACE "$<INSTALL_INTERFACE:include/etlab>")
    target_compile_features(${objects}_package INTERFACE cxx_std_17)
  endif()
  install(TARGETS ${archive} ${objects}_package EXPORT etlabTargets COMPONENT devel EXCLUDE_FROM_ALL
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endfunction()

# Links a program without the functions that it does not use.
function(etlab_drop_unused target)
  if(CMAKE_SYSTEM_NAME STREQUAL "Darwin")
    target_link_options(${target} PRIVATE -Wl,-dead_strip)
  else()
    target_link_options(${target} PRIVATE -Wl,--gc-sections)
  endif()
endfunction()

# Installs a program beside the archives.
function(etlab_package_program target)
  add_dependencies(etlab_package ${target})
  install(TARGETS ${target} COMPONENT devel EXCLUDE_FROM_ALL RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endfunction()

# The headers, and the files by which CMake finds all this.
function(etlab_install_package)
  set(here "${PROJECT_SOURCE_DIR}/runtime/package")
  file(READ "${PROJECT_SOURCE_DIR}/etlab/__init__.py" face)
  string(REGEX MATCH "__version__ = \"([0-9.]+)\"" found "${face}")
  write_basic_package_version_file("${PROJECT_BINARY_DIR}/etlabConfigVersion.cmake"
    VERSION "${CMAKE_MATCH_1}" COMPATIBILITY SameMinorVersion)
  install(FILES "${here}/etlabConfig.cmake" "${PROJECT_BINARY_DIR}/etlabConfigVersion.cmake"
    DESTINATION "${ETLAB_PACKAGE_FOLDER}" COMPONENT devel EXCLUDE_FROM_ALL)
  install(EXPORT etlabTargets NAMESPACE etlab:: DESTINATION "${ETLAB_PACKAGE_FOLDER}"
    COMPONENT devel EXCLUDE_FROM_ALL)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/runtime/core" "${PROJECT_SOURCE_DIR}/runtime/kernels"
    "${PROJECT_SOURCE_DIR}/runtime/llm"
    DESTINATION include/etlab/runtime COMPONENT devel EXCLUDE_FROM_ALL
    FILES_MATCHING PATTERN "*.h" PATTERN optimized EXCLUDE PATTERN portable EXCLUDE)
  if(ETLAB_SELECTION)
    install(DIRECTORY "${ETLAB_SELECTION}/runtime" DESTINATION include/etlab
      COMPONENT devel EXCLUDE_FROM_ALL FILES_MATCHING PATTERN "*.h")
  endif()
endfunction()

# find_package(etlab): etlab::core, etlab::portable, etlab::optimized and one etlab::backend_<name> for
# each backend with native code.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include("${CMAKE_CURRENT_LIST_DIR}/etlabTargets.cmake")

# Installed as PREFIX/lib/cmake/Nowcast/NowcastConfig.cmake. Defines the target Nowcast::nowcast, with nowcast.h and nowcast.hpp.
get_filename_component(_nowcast_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
find_library(NOWCAST_LIBRARY nowcast_ffi PATHS "${_nowcast_prefix}/lib" NO_DEFAULT_PATH)
if(NOT NOWCAST_LIBRARY)
  set(Nowcast_FOUND FALSE)
  set(Nowcast_NOT_FOUND_MESSAGE "the library nowcast_ffi is not in ${_nowcast_prefix}/lib")
  return()
endif()
if(NOT TARGET Nowcast::nowcast)
  add_library(Nowcast::nowcast UNKNOWN IMPORTED)
  set_target_properties(Nowcast::nowcast PROPERTIES
    IMPORTED_LOCATION "${NOWCAST_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${_nowcast_prefix}/include")
endif()
unset(_nowcast_prefix)

# The configuration of CPack for packaging/deb.sh: one package for each component of cmake/steelyard_install.cmake.
# STEELYARD_BUILD: the build folder; STEELYARD_VERSION: the release.
get_filename_component(source ${CMAKE_CURRENT_LIST_DIR}/../.. ABSOLUTE)
set(control ${CMAKE_CURRENT_LIST_DIR}/control)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME steelyard)
set(CPACK_PACKAGE_VERSION $ENV{STEELYARD_VERSION})
set(CPACK_PACKAGE_FILE_NAME steelyard)  # of the staging folder; CPACK_DEBIAN_FILE_NAME names the packages
set(CPACK_CMAKE_GENERATOR Ninja)
set(CPACK_INSTALL_CMAKE_PROJECTS "$ENV{STEELYARD_BUILD};steelyard;ALL;/")
set(CPACK_COMPONENTS_ALL program development python3)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
  WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/finish.cmake)

set(CPACK_PACKAGE_DESCRIPTION "trains neural networks on machines of unequal speed")

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "Steelyard maintainers <maintainers@steelyard.invalid>")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME steelyard)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS openssh-client)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "python3-steelyard, dataset-fashion-mnist")
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION "trains neural networks on machines of unequal speed
Steelyard is a parameter server for synchronous data-parallel training. It
measures the workers in each round and gives each one a share of the batch
that fits its speed, so that all of them finish at the same time. Workers,
servers and the scheduler may be lost and may join while training runs.
.
This package contains the program, its models and policies, services for
systemd, the documentation and examples.")
file(GLOB CPACK_DEBIAN_PROGRAM_PACKAGE_CONTROL_EXTRA ${control}/steelyard/*)

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libsteelyard-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "steelyard (= ${CPACK_PACKAGE_VERSION}), libzmq3-dev, libdnnl-dev,
 libtbb-dev, libtomlplusplus-dev, libxxhash-dev, libzip-dev, libpng-dev, libjpeg62-turbo-dev,
 libcpp-httplib-dev, zlib1g-dev")
string(REPLACE "\n" "" CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS}")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "models, policies and engines of your own for Steelyard
Headers and static libraries for programs that train with a model, a data
set, a policy or an engine of their own, the C interface, and the CMake
package steelyard.")

set(CPACK_DEBIAN_PYTHON3_PACKAGE_NAME python3-steelyard)
set(CPACK_DEBIAN_PYTHON3_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON3_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON3_PACKAGE_DEPENDS "steelyard (= ${CPACK_PACKAGE_VERSION}), python3:any (>= 3.9)")
set(CPACK_DEBIAN_PYTHON3_PACKAGE_SUGGESTS "python3-torch, python3-numpy")
set(CPACK_DEBIAN_PYTHON3_DESCRIPTION "PyTorch, Keras and JAX on machines of unequal speed
The Python package steelyard: scripts with PyTorch, Keras, JAX or arrays
train on unequal workers of Steelyard, and steelyard.balance divides batches
for a training loop of your own.")
file(GLOB CPACK_DEBIAN_PYTHON3_PACKAGE_CONTROL_EXTRA ${control}/python3-steelyard/*)

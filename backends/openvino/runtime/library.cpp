#include "backends/openvino/runtime/library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <mutex>
#include <utility>

#include "runtime/core/error.h"

namespace etlab::openvino {

namespace {

constexpr const char* kPathVariable = "OPENVINO_LIB_PATH";
constexpr const char* kSystemName = "libopenvino_c.so";

template <typename Function>
void find(void* library, const char* name, const char* path, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  ETLAB_CHECK(function != nullptr, kBackendMissing, "OpenVINO: ", path, " has no function ", name,
              "; install another version: pip install openvino");
}

Library load() {
  const char* given = std::getenv(kPathVariable);
  const char* path = given != nullptr ? given : kSystemName;
  // Never closed: it starts threads of its own that outlive every delegate.
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const reason = dlerror();
    fail(ErrorKind::kBackendMissing, "OpenvinoBackend: the OpenVINO library cannot be loaded (",
         reason != nullptr ? reason : "no reason given", "); pip install openvino, or set ",
         kPathVariable, " to its libopenvino_c.so");
  }
  Library found{};
#define ETLAB_FIND(name) find(library, "ov_" #name, path, found.name)
  ETLAB_FIND(get_last_err_msg);
  ETLAB_FIND(core_create);
  ETLAB_FIND(core_set_property);
  ETLAB_FIND(core_import_model);
  ETLAB_FIND(compiled_model_inputs_size);
  ETLAB_FIND(compiled_model_outputs_size);
  ETLAB_FIND(compiled_model_create_infer_request);
  ETLAB_FIND(compiled_model_free);
  ETLAB_FIND(infer_request_set_input_tensor_by_index);
  ETLAB_FIND(infer_request_set_output_tensor_by_index);
  ETLAB_FIND(infer_request_get_output_tensor_by_index);
  ETLAB_FIND(infer_request_infer);
  ETLAB_FIND(infer_request_free);
  ETLAB_FIND(tensor_create_from_host_ptr);
  ETLAB_FIND(tensor_get_shape);
  ETLAB_FIND(tensor_get_element_type);
  ETLAB_FIND(tensor_data);
  ETLAB_FIND(tensor_free);
  ETLAB_FIND(shape_free);
#undef ETLAB_FIND
  return found;
}

}  // namespace

const Library& Library::get() {
  static std::mutex mutex;
  static std::unique_ptr<const Library> library;
  const std::lock_guard<std::mutex> lock(mutex);
  if (library == nullptr) library = std::make_unique<const Library>(load());
  return *library;
}

void Library::check(Status status, const char* what) const {
  if (status == 0) return;
  const char* const words = get_last_err_msg();
  fail(ErrorKind::kInternal, "OpenVINO: ", what, " failed with status ", status, ": ",
       words != nullptr ? words : "no reason given");
}

SharedCore shared_core() {
  static std::mutex mutex;
  static Core* core = nullptr;
  std::unique_lock<std::mutex> lock(mutex);
  if (core == nullptr) {
    const Library& library = Library::get();
    library.check(library.core_create(&core), "making its core");
  }
  return {std::move(lock), core};
}

int element_type_of(ScalarType type) {
  switch (type) {
    case ScalarType::kBool: return 1;
    case ScalarType::kBFloat16: return 2;
    case ScalarType::kHalf: return 3;
    case ScalarType::kFloat: return 4;
    case ScalarType::kDouble: return 5;
    case ScalarType::kChar: return 7;
    case ScalarType::kShort: return 8;
    case ScalarType::kInt: return 9;
    case ScalarType::kLong: return 10;
    case ScalarType::kByte: return 16;
    default: break;
  }
  fail(ErrorKind::kNotSupported, "OpenVINO has no elements of type ", name_of(type));
}

}  // namespace etlab::openvino

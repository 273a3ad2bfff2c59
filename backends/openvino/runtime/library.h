#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "runtime/core/scalar_type.h"
#include "runtime/core/tensor.h"

// What is used of OpenVINO's C interface (openvino/c/*.h of its packages), found in the shared
// library when the first delegate is loaded: nothing is linked.
namespace etlab::openvino {

struct Core;
struct CompiledModel;
struct InferRequest;
struct Tensor;
struct Shape {
  int64_t rank;
  int64_t* dims;
};
using Status = int;  // 0 is success

// The functions by their C names without "ov_".
struct Library {
  const char* (*get_last_err_msg)();
  Status (*core_create)(Core**);
  Status (*core_set_property)(const Core*, const char* device, ...);
  Status (*core_import_model)(const Core*, const char* content, size_t size, const char* device,
                              CompiledModel**);
  Status (*compiled_model_inputs_size)(const CompiledModel*, size_t*);
  Status (*compiled_model_outputs_size)(const CompiledModel*, size_t*);
  Status (*compiled_model_create_infer_request)(const CompiledModel*, InferRequest**);
  void (*compiled_model_free)(CompiledModel*);
  Status (*infer_request_set_input_tensor_by_index)(InferRequest*, size_t, const Tensor*);
  Status (*infer_request_set_output_tensor_by_index)(InferRequest*, size_t, const Tensor*);
  Status (*infer_request_get_output_tensor_by_index)(const InferRequest*, size_t, Tensor**);
  Status (*infer_request_infer)(InferRequest*);
  void (*infer_request_free)(InferRequest*);
  Status (*tensor_create_from_host_ptr)(int type, Shape shape, void* data, Tensor**);
  Status (*tensor_get_shape)(const Tensor*, Shape*);
  Status (*tensor_get_element_type)(const Tensor*, int*);
  Status (*tensor_data)(const Tensor*, void**);
  void (*tensor_free)(Tensor*);
  Status (*shape_free)(Shape*);

  // The library at the path in OPENVINO_LIB_PATH, or the system's. Throws kBackendMissing with the
  // reason; asked again, it looks again.
  static const Library& get();
  // Throws kInternal with OpenVINO's own words if `status` is not success.
  void check(Status status, const char* what) const;
};

template <typename T, void (*Library::*free)(T*)>
struct Freed {
  void operator()(T* object) const { (Library::get().*free)(object); }
};
using OwnedModel =
    std::unique_ptr<CompiledModel, Freed<CompiledModel, &Library::compiled_model_free>>;
using OwnedRequest =
    std::unique_ptr<InferRequest, Freed<InferRequest, &Library::infer_request_free>>;
using OwnedTensor = std::unique_ptr<Tensor, Freed<Tensor, &Library::tensor_free>>;

// The one core of the process, for whoever holds the lock: what is set on it holds for all. Never
// freed: with its last core OpenVINO unmaps the stack that it gave the first thread for signals, and
// the next signal (a notebook's stop button) would end the process.
struct SharedCore {
  std::unique_lock<std::mutex> lock;
  Core* core;
};
SharedCore shared_core();

// The number of an element type in OpenVINO's interface; throws kNotSupported where it has none.
int element_type_of(ScalarType type);

}  // namespace etlab::openvino

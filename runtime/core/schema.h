#pragma once

// Names of the generated schema classes, so that headers need not include the generated one.
namespace etlab::schema {

struct AllocationDetails;
struct BackendDelegateDataReference;
struct EValue;
struct ExecutionPlan;
struct Instruction;
struct Program;
struct SubsegmentOffsets;
struct Tensor;

}  // namespace etlab::schema

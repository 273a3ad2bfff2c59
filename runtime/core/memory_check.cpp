#include "runtime/core/memory_check.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "runtime/core/byte_owners.h"
#include "runtime/core/checked.h"
#include "runtime/core/method.h"
#include "runtime/core/value_uses.h"
#include "runtime/schema/program_generated.h"

namespace etlab {

namespace {

constexpr size_t kMostValues = size_t{1} << 16;  // they are compared with one another

struct Bytes {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  bool contains(const Bytes& other) const { return begin <= other.begin && other.end <= end; }
  bool overlaps(const Bytes& other) const { return begin < other.end && other.begin < end; }
};

class MemoryCheck : public RunWatch {
 public:
  MemoryCheck(const schema::ExecutionPlan& plan, ValueTable& values, SharedState& shared_state)
      : plan_(plan), values_(values), uses_(instruction_uses(plan)),
        last_use_(last_uses(plan, uses_)), is_state_(values.size(), false),
        is_written_by_plan_(values.size(), false), is_changed_by_plan_(values.size(), false),
        is_given_(values.size(), false), is_written_(values.size(), false),
        origin_(values.size()), view_of_(values.size()) {
    for (size_t i = 0; i < values.arenas().size(); ++i) {
      const Span<uint8_t> arena = values.arenas()[i];
      if (!arena.empty()) arenas_.push_back({i, bytes_of(arena), shared_state.arena(i) != nullptr});
    }
    for (uint32_t i = 0; i < count(plan.inputs()); ++i) {
      is_given_[static_cast<size_t>(plan.inputs()->Get(i))] = true;
    }
    for (const InstructionUses& uses : uses_) {
      for (const size_t value : uses.writes) {
        is_written_by_plan_[value] = is_written_by_plan_[value] || uses.kind == Kind::kPlain;
        is_changed_by_plan_[value] = true;
      }
    }
    find_state(shared_state);
    find_origins();
    let_views_keep_what_they_show();
  }

  void begin_run() override {
    owners_.clear();
    std::fill(is_written_.begin(), is_written_.end(), false);
    view_of_ = origin_;
    for (size_t i = 0; i < values_.size(); ++i) {
      if (is_state_[i]) give(i, 0);
    }
    for (const Arena& arena : arenas_) {
      if (!arena.is_shared) owners_.for_each_gap(arena.bytes.begin, arena.bytes.end, poison);
    }
  }

  void inputs_bound() override {
    for (size_t i = 0; i < values_.size(); ++i) {
      if (is_given_[i]) give(i, 0);
    }
  }

  void before(size_t instruction) override {
    const InstructionUses& uses = uses_[instruction];
    for (const size_t value : uses.reads) require_own_bytes(value);
    if (uses.kind == Kind::kInPlace && !begins_anew(uses)) {
      for (const size_t value : uses.writes) {
        if (is_state_[value] || is_written_[value]) require_own_bytes(value);
      }
    }
    if (uses.kind != Kind::kPlain) return;
    for (const size_t result : uses.writes) {
      for (const size_t value : uses.reads) {
        const bool is_same = uses.may_overwrite && is_laid_out_alike(result, value);
        const bool is_over =
            in_arena(result) && !is_same && bytes_of(result).overlaps(bytes_of(value));
        ETLAB_CHECK(!is_over, kInvalidProgram, "memory plan: the result, value ", result,
                    ", is written over value ", value, ", which the same instruction reads");
      }
    }
  }

  void after(size_t instruction, size_t next) override {
    const InstructionUses& uses = uses_[instruction];
    for (const size_t value : uses.writes) {
      if (uses.kind == Kind::kView) {
        if (!uses.reads.empty()) view_of_[value] = view_of_[uses.reads.front()];
      } else {
        if (uses.kind == Kind::kPlain) view_of_[value] = origin_[value];
        give(value, instruction);
      }
      is_written_[value] = true;
    }
    owners_.release(
        [&](size_t owner) { return !is_state_[owner] && last_use_[owner] < next; },
        poison);
  }

  void end_run() override {
    try {
      for (size_t i = 0; i < values_.size(); ++i) {
        if (is_state_[i]) require_own_bytes(i);
      }
      for (uint32_t i = 0; i < count(plan_.outputs()); ++i) {
        require_own_bytes(static_cast<size_t>(plan_.outputs()->Get(i)));
      }
    } catch (const Error& error) {
      fail(error.kind(), "method '", plan_.name()->string_view(), "', at its end: ", error.what());
    }
  }

 private:
  using Kind = InstructionUses::Kind;
  struct Arena {
    size_t index;
    Bytes bytes;
    bool is_shared;
  };

  static Bytes bytes_of(Span<uint8_t> memory) {
    const auto begin = reinterpret_cast<uintptr_t>(memory.data());
    return {begin, begin + memory.size()};
  }

  // nullptr when the value is no tensor.
  const Tensor* tensor(size_t value) const {
    Tensor* const* slot = values_.at(value).get_if<Tensor*>();
    return slot == nullptr ? nullptr : *slot;
  }
  // Whether element i of both lies at the same place.
  bool is_laid_out_alike(size_t first, size_t second) const {
    const Tensor* one = tensor(first);
    const Tensor* other = tensor(second);
    if (one == nullptr || other == nullptr || one->raw() != other->raw()) return false;
    const bool is_static = one->dynamism() == ShapeDynamism::kStatic;
    return one->type() == other->type() && (!is_static || one->has_same_layout(*other));
  }
  Bytes bytes_of(size_t value) const {
    const Tensor* found = tensor(value);
    if (found == nullptr || found->raw() == nullptr) return {};
    const auto begin = reinterpret_cast<uintptr_t>(found->raw());
    return {begin, begin + found->nbytes()};
  }
  const Arena* arena_of(const Bytes& bytes) const {
    for (const Arena& arena : arenas_) {
      if (bytes.begin < bytes.end && arena.bytes.contains(bytes)) return &arena;
    }
    return nullptr;
  }
  bool in_arena(size_t value) const { return arena_of(bytes_of(value)) != nullptr; }

  // State is what has a first value, a name or a place in a shared arena; and what is changed in
  // place but read before, for then its first value is the last run's (or zero).
  void find_state(SharedState& shared_state) {
    std::vector<bool> is_read_first(values_.size(), false);
    std::vector<bool> is_seen(values_.size(), false);
    std::vector<bool> is_changed_in_place(values_.size(), false);
    for (const InstructionUses& uses : uses_) {
      for (const size_t value : uses.reads) {
        if (!is_seen[value]) is_read_first[value] = true;
        is_seen[value] = true;
      }
      for (const size_t value : uses.writes) {
        is_seen[value] = true;
        if (uses.kind == Kind::kInPlace) is_changed_in_place[value] = true;
      }
    }
    for (size_t i = 0; i < values_.size(); ++i) {
      const auto* description = plan_.values()->Get(static_cast<uint32_t>(i))->val_as_Tensor();
      if (description == nullptr || description->allocation_info() == nullptr) continue;
      const bool has_name = description->extra_tensor_info() != nullptr &&
                            description->extra_tensor_info()->fully_qualified_name() != nullptr;
      const bool is_shared =
          shared_state.arena(description->allocation_info()->memory_id()) != nullptr;
      const bool is_kept = is_changed_in_place[i] && is_read_first[i] && !is_written_by_plan_[i] &&
                           !is_given_[i];
      is_state_[i] = has_name || is_shared || description->data_buffer_idx() > 0 || is_kept;
    }
  }

  // Whether the instruction writes the first row of a result that grows row by row: what an earlier
  // round of a loop around it left there is over.
  bool begins_anew(const InstructionUses& uses) const {
    if (uses.row == InstructionUses::kNoRow) return false;
    const int64_t* row = values_.at(uses.row).get_if<int64_t>();
    return row != nullptr && *row == 0;
  }

  // A mutable buffer that is read through views stands in the file as several values of one place
  // and one first value: the one that instructions change is the origin of the others.
  void find_origins() {
    std::iota(origin_.begin(), origin_.end(), size_t{0});
    std::vector<size_t> origins;
    for (size_t i = 0; i < values_.size(); ++i) {
      if (is_state_[i] && is_changed_by_plan_[i]) origins.push_back(i);
    }
    for (size_t i = 0; i < values_.size(); ++i) {
      if (!is_state_[i] || is_changed_by_plan_[i]) continue;
      const auto same = std::find_if(origins.begin(), origins.end(),
                                     [&](size_t other) { return is_same_state(other, i); });
      if (same == origins.end()) {
        origins.push_back(i);
      } else {
        origin_[i] = *same;
      }
    }
  }

  bool is_same_state(size_t one, size_t other) const {
    const Bytes place = bytes_of(one);
    const Bytes other_place = bytes_of(other);
    if (place.begin != other_place.begin || place.end != other_place.end) return false;
    const schema::Tensor& description = tensor_description(one);
    const schema::Tensor& other_description = tensor_description(other);
    const std::string_view name = state_name(description);
    const std::string_view other_name = state_name(other_description);
    const bool has_name = !name.empty() && !other_name.empty();
    const uint32_t first_value = description.data_buffer_idx();
    return first_value == other_description.data_buffer_idx() &&
           (has_name ? name == other_name : first_value > 0);
  }

  const schema::Tensor& tensor_description(size_t value) const {
    return *plan_.values()->Get(static_cast<uint32_t>(value))->val_as_Tensor();
  }
  static std::string_view state_name(const schema::Tensor& description) {
    const auto* extra = description.extra_tensor_info();
    const bool has_name = extra != nullptr && extra->fully_qualified_name() != nullptr;
    return has_name ? extra->fully_qualified_name()->string_view() : std::string_view();
  }

  // A value lives as long as what looks into it: views that instructions make, and planned values
  // that nothing writes and that lie within its place.
  void let_views_keep_what_they_show() {
    for (size_t i = uses_.size(); i-- > 0;) {
      if (uses_[i].kind != Kind::kView) continue;
      for (const size_t base : uses_[i].reads) {
        for (const size_t view : uses_[i].writes) keep(base, view);
      }
    }
    ETLAB_CHECK(values_.size() <= kMostValues, kNotSupported,
                "memory check: it serves methods of up to ", kMostValues, " values, this one has ",
                values_.size());
    for (size_t view = 0; view < values_.size(); ++view) {
      if (is_written_by_plan_[view] || is_given_[view] || !in_arena(view)) continue;
      for (size_t base = 0; base < values_.size(); ++base) {
        if (bytes_of(base).contains(bytes_of(view))) keep(base, view);
      }
    }
  }
  void keep(size_t base, size_t view) {
    last_use_[base] = std::max(last_use_[base], last_use_[view]);
  }

  void give(size_t value, size_t since) {
    const Bytes bytes = bytes_of(value);
    if (arena_of(bytes) != nullptr) owners_.give(bytes.begin, bytes.end, view_of_[value], since);
  }

  void require_own_bytes(size_t value) {
    const Bytes bytes = bytes_of(value);
    const Arena* arena = arena_of(bytes);
    if (arena == nullptr) return;
    const bool may_be_view = view_of_[value] == origin_[value] && !is_written_[value] &&
                             !is_written_by_plan_[value] && !is_given_[value] && !is_state_[value];
    if (may_be_view) {
      const size_t owner = owners_.owner_of(bytes.begin);
      if (owner != ByteOwners::kNobody) view_of_[value] = owner;
    }
    const ByteOwners::Piece piece =
        owners_.first_foreign(bytes.begin, bytes.end, view_of_[value]);
    if (piece.begin == piece.end) return;
    const std::string place = concat("bytes ", piece.begin - arena->bytes.begin, " to ",
                                     piece.end - arena->bytes.begin, " of arena ", arena->index);
    ETLAB_CHECK(piece.owner != ByteOwners::kNobody, kInvalidProgram, "memory plan: value ", value,
                " is read, but nothing has written ", place);
    fail(ErrorKind::kInvalidProgram, "memory plan: value ", value, " is read, but ", place,
         " were given to value ", piece.owner, ", written by instruction ", piece.since,
         "; two values that are in use at once share a place");
  }

  static void poison(uintptr_t begin, uintptr_t end) {
    std::memset(reinterpret_cast<void*>(begin), kPoison, end - begin);
  }

  const schema::ExecutionPlan& plan_;
  ValueTable& values_;
  std::vector<InstructionUses> uses_;
  // By value:
  std::vector<size_t> last_use_;
  std::vector<bool> is_state_;
  std::vector<bool> is_written_by_plan_;  // simply written by some instruction
  std::vector<bool> is_changed_by_plan_;  // written in any way
  std::vector<bool> is_given_;            // an input
  std::vector<bool> is_written_;          // in this run
  std::vector<size_t> origin_;            // of state, the value that owns the bytes; else itself
  std::vector<size_t> view_of_;           // its origin when it is no view
  std::vector<Arena> arenas_;
  ByteOwners owners_;
};

}  // namespace

std::unique_ptr<RunWatch> make_memory_check(const schema::ExecutionPlan& plan, ValueTable& values,
                                            SharedState& shared_state) {
  return std::make_unique<MemoryCheck>(plan, values, shared_state);
}

void Method::check_memory() {
  const Turn turn = wait_for_turn(nullptr);
  watch_ = make_memory_check(plan_, values_, shared_state_);
}

}  // namespace etlab

// A bench for the memory side without SMs: warps that do nothing but access memory, and requests sent straight to the memory system.
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <queue>

#include "bind.h"
#include "config_dict.h"
#include "mem/port.h"

namespace nb = nanobind;

namespace ws {
namespace {

template <class T, int N = 1>
using In = nb::ndarray<const T, nb::ndim<N>, nb::c_contig, nb::device::cpu>;

nb::object owned(std::vector<uint64_t>&& values) {
  auto* data = new std::vector<uint64_t>(std::move(values));
  nb::capsule owner(data, [](void* p) noexcept { delete static_cast<std::vector<uint64_t>*>(p); });
  const size_t shape[] = {data->size()};
  return nb::cast(nb::ndarray<nb::numpy, uint64_t, nb::ndim<1>>(data->data(), 1, shape, owner));
}

class MemoryBench;

struct Unit final : LsuClient {  // an SM's client
  MemoryBench* bench = nullptr;
  uint16_t sm = 0;
  void complete(uint32_t token, Cycle when) override;
  void stores_drained(uint32_t group, Cycle when) override;
  void line_counts(uint32_t record, uint32_t sectors, uint32_t wavefronts, uint32_t conflicts) override;
};

class MemoryBench final : ReplySink {
 public:
  MemoryBench(nb::dict config, double sm_mhz, std::vector<uint16_t> gpc_of_sm) {
    const Config values = config_from(config);
    Topology topology{sm_mhz, gpc_of_sm, std::vector<uint16_t>(gpc_of_sm.size())};
    for (size_t sm = 0; sm < gpc_of_sm.size(); ++sm) topology.tpc_of_sm[sm] = static_cast<uint16_t>(sm / 2);
    memory_ = make_memory_system(values, counters_, topology);
    units_.resize(gpc_of_sm.size());
    for (uint16_t sm = 0; sm < units_.size(); ++sm) {
      units_[sm] = std::make_unique<Unit>();
      units_[sm]->bench = this;
      units_[sm]->sm = sm;
      lsus_.push_back(make_load_store_unit(values, counters_, sm, *memory_, *units_[sm]));
    }
  }

  // Warps run their accesses in order, at most `window` of them in flight; a sub-core issues one a cycle. See the docstring below.
  nb::dict run(In<uint64_t, 2> addresses, In<uint32_t> masks, In<uint32_t> sms, In<uint32_t> warps, In<uint8_t> ops,
               const std::string& space, uint8_t bytes, int cache_op, uint32_t window, uint64_t limit) {
    const size_t n = addresses.shape(0);
    if (addresses.shape(1) != kWarpSize || masks.shape(0) != n || sms.shape(0) != n || warps.shape(0) != n || ops.shape(0) != n)
      throw std::invalid_argument("addresses must be [n, 32]; masks, sms, warps and ops [n]");
    issued_.assign(n, 0), completed_.assign(n, kNever), counts_.assign(3 * n, 0);
    owner_.resize(n);
    warps_.clear();
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> index;  // (sm, warp) -> position
    for (size_t i = 0; i < n; ++i) {
      if (sms(i) >= lsus_.size()) throw std::invalid_argument("no such SM");
      auto [it, added] = index.try_emplace({sms(i), warps(i)}, static_cast<uint32_t>(warps_.size()));
      if (added) warps_.push_back({static_cast<uint16_t>(sms(i)), static_cast<uint16_t>(warps(i)), {}});
      warps_[it->second].accesses.push_back(static_cast<uint32_t>(i));
      owner_[i] = it->second;
    }
    window_ = window;
    subcores_.assign(lsus_.size() * 4, {});
    const Accesses access{addresses.data(), masks.data(), ops.data(), space_named(space), bytes, static_cast<CacheOp>(cache_op)};
    const Cycle start = now_;
    for (uint32_t w = 0; w < warps_.size(); ++w) wake(w, now_);
    Cycle last = now_;
    while (!ready_.empty() || memory_->next_event() != kNever) {
      const Cycle next = std::min(ready_.empty() ? kNever : ready_.top().first, memory_->next_event());
      if (next - start > limit) throw std::runtime_error("not finished after " + std::to_string(limit) + " cycles");
      now_ = last = next;
      memory_->run(now_, *this);
      while (!ready_.empty() && ready_.top().first <= now_) {
        const uint32_t who = ready_.top().second;
        ready_.pop();
        step(who, access);
      }
    }
    for (Cycle& cycle : issued_) cycle -= start;
    for (Cycle& cycle : completed_) {
      if (cycle == kNever) throw std::runtime_error("an access never completed");
      last = std::max(last, cycle);
      cycle -= start;
    }
    now_ = last + 1;
    nb::dict result;
    result["cycles"] = last - start;
    result["issued"] = owned(std::move(issued_));
    result["completed"] = owned(std::move(completed_));
    result["counts"] = owned(std::move(counts_));
    return result;
  }

  // Requests straight to the memory system, each at its cycle (ascending); returns the cycle of each reply.
  nb::object send(In<uint64_t> cycles, In<uint64_t> lines, In<uint8_t> sectors, In<uint8_t> ops, In<uint32_t> sms) {
    const size_t n = cycles.shape(0);
    direct_ = true;
    completed_.assign(n, kNever);
    const Cycle start = now_;
    for (size_t i = 0; i < n || memory_->next_event() != kNever;) {
      const Cycle next = std::min(i < n ? start + cycles(i) : kNever, memory_->next_event());
      now_ = std::max(now_, next);
      memory_->run(now_, *this);
      for (; i < n && start + cycles(i) <= now_; ++i) {
        MemRequest request{};
        request.token = i, request.line = lines(i), request.sm = static_cast<uint16_t>(sms(i)), request.sectors = sectors(i);
        request.op = static_cast<MemoryOp>(ops(i)), request.full_sectors = sectors(i), request.atomic_lanes = 1,
        request.atomic_conflict = 1;
        request.payload = request.op == MemoryOp::Load ? 0 : 32;
        memory_->send(now_, request);
      }
    }
    direct_ = false;
    ++now_;
    for (Cycle& cycle : completed_) cycle = cycle == kNever ? cycle : cycle - start;
    return owned(std::move(completed_));
  }

  nb::dict counters() const {
    std::map<std::string, std::vector<uint64_t>> values;
    for (const CounterEntry& entry : counters_.entries()) values[entry.name].push_back(*entry.value);
    nb::dict result;
    for (auto& [name, list] : values) result[name.c_str()] = owned(std::move(list));
    return result;
  }

  void flush() {
    for (auto& lsu : lsus_) lsu->flush();
    memory_->flush();
  }
  void invalidate_l1() {
    for (auto& lsu : lsus_) lsu->invalidate_l1();
  }
  void reset() {
    for (auto& lsu : lsus_) lsu->reset();
    memory_->reset();
    while (!ready_.empty()) ready_.pop();
    now_ = 0;
  }
  void set_shared_bytes(uint32_t bytes) {
    for (auto& lsu : lsus_) lsu->set_shared_bytes(bytes);
  }
  void set_line_counts(bool on) {
    for (auto& lsu : lsus_) lsu->set_line_counts(on);
  }
  bool drained(uint32_t sm, uint32_t group) const { return lsus_.at(sm)->drained(group); }

  void reply(const MemReply& reply, Cycle now) override {
    if (direct_)
      completed_[reply.token] = now;
    else
      lsus_[reply.sm]->reply(reply, now);
  }
  void complete(uint32_t token, Cycle when) {
    completed_[token] = when;
    ends_.push({when, owner_[token]});
    wake(owner_[token], when);
  }
  void line_counts(uint32_t record, uint32_t sectors, uint32_t wavefronts, uint32_t conflicts) {
    counts_[3 * record] = sectors, counts_[3 * record + 1] = wavefronts, counts_[3 * record + 2] = conflicts;
  }

 private:
  struct Warp {
    uint16_t sm, id;
    std::vector<uint32_t> accesses;
    uint32_t next = 0, done = 0;
    bool waits = false;  // in its sub-core's list
  };
  struct SubCore {
    Cycle free = 0, wake = 0;
    std::deque<uint32_t> waiting;  // warps
  };
  struct Accesses {
    const uint64_t* addresses;
    const uint32_t* masks;
    const uint8_t* ops;
    Space space;
    uint8_t bytes;
    CacheOp cache_op;
  };
  using Due = std::pair<Cycle, uint32_t>;
  using Queue = std::priority_queue<Due, std::vector<Due>, std::greater<>>;

  static Space space_named(const std::string& name) {
    static const std::map<std::string, Space> names{
        {"global", Space::Global}, {"shared", Space::Shared}, {"local", Space::Local}, {"const", Space::Const}, {"param", Space::Param}};
    auto it = names.find(name);
    if (it == names.end()) throw std::invalid_argument("no memory space '" + name + "'");
    return it->second;
  }

  void wake(uint32_t w, Cycle at) { ready_.push({at, w}); }

  // `who`: a warp that may have something to issue, or (behind the warps) a sub-core whose waiting warps may go on.
  void step(uint32_t who, const Accesses& access) {
    while (!ends_.empty() && ends_.top().first <= now_) {
      ++warps_[ends_.top().second].done;
      ends_.pop();
    }
    const bool is_warp = who < warps_.size();
    const uint32_t index = is_warp ? warps_[who].sm * 4u + warps_[who].id % 4u : who - static_cast<uint32_t>(warps_.size());
    SubCore& subcore = subcores_[index];
    if (is_warp) {
      if (warps_[who].waits || !can_go_on(who)) return;  // a completion wakes it
      warps_[who].waits = true;
      subcore.waiting.push_back(who);
    } else if (subcore.wake != now_) {
      return;
    }
    while (!subcore.waiting.empty()) {
      const uint32_t w = subcore.waiting.front();
      const Cycle at = std::max(subcore.free, lsus_[index / 4]->can_issue(now_, static_cast<uint8_t>(index % 4), access.space));
      if (at > now_) {
        if (subcore.wake <= now_ || at < subcore.wake) wake(static_cast<uint32_t>(warps_.size()) + index, subcore.wake = at);
        return;
      }
      subcore.waiting.pop_front();
      subcore.free = now_ + 1;
      warps_[w].waits = false;
      issue(w, access);
    }
  }

  bool can_go_on(uint32_t w) const {
    const Warp& warp = warps_[w];
    return warp.next < warp.accesses.size() && warp.next - warp.done < window_;
  }

  void issue(uint32_t w, const Accesses& access) {
    Warp& warp = warps_[w];
    const uint32_t i = warp.accesses[warp.next++];
    issued_[i] = now_;
    lsus_[warp.sm]->issue(now_, {i, warp.id, static_cast<uint8_t>(warp.id % 4), access.space, static_cast<MemoryOp>(access.ops[i]),
                                 access.cache_op, access.bytes, 0, access.masks[i], i, access.addresses + size_t{i} * kWarpSize});
    if (can_go_on(w)) wake(w, now_ + 1);
  }

  CounterRegistry counters_;
  std::unique_ptr<MemorySystem> memory_;
  std::vector<std::unique_ptr<Unit>> units_;
  std::vector<std::unique_ptr<LoadStoreUnit>> lsus_;
  Cycle now_ = 0;
  bool direct_ = false;
  uint32_t window_ = 1;
  std::vector<uint64_t> issued_, completed_, counts_;
  std::vector<uint32_t> owner_;
  std::vector<Warp> warps_;
  std::vector<SubCore> subcores_;
  Queue ready_, ends_;
};

void Unit::complete(uint32_t token, Cycle when) { bench->complete(token, when); }
void Unit::stores_drained(uint32_t, Cycle) {}
void Unit::line_counts(uint32_t record, uint32_t sectors, uint32_t wavefronts, uint32_t conflicts) {
  bench->line_counts(record, sectors, wavefronts, conflicts);
}

}  // namespace

void bind_mem(nb::module_& m) {
  nb::class_<MemoryBench>(m, "MemoryBench",
                          "The load/store units and memory system of a GPU model, driven without SMs. Cycles are SM cycles.")
      .def(nb::init<nb::dict, double, std::vector<uint16_t>>(), nb::arg("config"), nb::arg("sm_mhz"), nb::arg("gpc_of_sm"),
           "config: flat dict of GPU model keys; sm_mhz: SM clock; gpc_of_sm: GPC of every SM.")
      .def(
          "run", &MemoryBench::run, nb::arg("addresses"), nb::arg("masks"), nb::arg("sms"), nb::arg("warps"), nb::arg("ops"),
          nb::arg("space") = "global", nb::arg("bytes") = 4, nb::arg("cache_op") = 0, nb::arg("window") = 1,
          nb::arg("limit") = 1'000'000'000,
          "Runs n warp accesses. addresses [n, 32] uint64, masks [n] uint32 lanes, sms [n], warps [n] (sub-core = warp % 4), ops [n] uint8 "
          "(1 load, "
          "2 store, 3 atomic, 4 reduction, 5 prefetch); `bytes` a lane; cache_op as in record.h. A warp issues in order with at most "
          "`window` "
          "accesses in flight. Returns cycles until all is quiet, issue and completion cycle of each, counts [n * 3] (sectors, wavefronts, "
          "conflicts) when set_line_counts(True). RuntimeError when not done after `limit` cycles.")
      .def("send", &MemoryBench::send, nb::arg("cycles"), nb::arg("lines"), nb::arg("sectors"), nb::arg("ops"), nb::arg("sms"),
           "Sends n requests straight to the memory system, at ascending cycles; returns the cycle of each reply (2**64-1: none).")
      .def("counters", &MemoryBench::counters, "Counter name -> values of its units, uint64.")
      .def("flush", &MemoryBench::flush)
      .def("invalidate_l1", &MemoryBench::invalidate_l1)
      .def("reset", &MemoryBench::reset)
      .def("set_shared_bytes", &MemoryBench::set_shared_bytes)
      .def("set_line_counts", &MemoryBench::set_line_counts)
      .def("drained", &MemoryBench::drained, nb::arg("sm"), nb::arg("group"));
}

}  // namespace ws

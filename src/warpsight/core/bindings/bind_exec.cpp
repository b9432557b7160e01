// Device memory, programs and the functional machine for Python (engine/launch.py is the user).
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstring>
#include <new>
#include <stdexcept>

#include "bind.h"
#include "exec/machine.h"
#include "exec/runtime.h"
#include "machine_handle.h"

namespace nb = nanobind;

namespace ws {
namespace {

template <class T>
using Array = nb::ndarray<const T, nb::numpy, nb::c_contig, nb::device::cpu>;

// Bytes of a NumPy array, or throws: a transfer must lie inside one live allocation.
uint8_t* transfer(Memory& memory, uint64_t address, uint64_t bytes) {
  const Allocation* a = memory.find(address);
  if (bytes && (!a || bytes > a->address + a->bytes - address)) throw std::out_of_range("transfer outside a live allocation");
  return memory.host(address);
}

template <class T>
std::vector<T> copy_of(const Array<T>& array) {
  return std::vector<T>(array.data(), array.data() + array.size());
}

nb::object make_array(size_t count, size_t item, const char* dtype, const void* data) {
  nb::object bytes = nb::steal(PyBytes_FromStringAndSize(static_cast<const char*>(data), static_cast<Py_ssize_t>(count * item)));
  return nb::module_::import_("numpy").attr("frombuffer")(bytes, dtype);
}

nb::dict fault_fields(const KernelFault& f) {
  nb::dict d;
  d["kind"] = f.kind;
  d["pc"] = f.pc;
  d["cta"] = f.cta;
  d["ctaid"] = nb::make_tuple(f.ctaid[0], f.ctaid[1], f.ctaid[2]);
  d["tid"] = nb::make_tuple(f.tid[0], f.tid[1], f.tid[2]);
  d["lane"] = f.lane;
  d["address"] = f.address;
  d["bytes"] = f.bytes;
  d["space"] = static_cast<uint32_t>(f.space);
  d["store"] = f.store;
  return d;
}

// What the NumPy interpreter sees of a warp: special registers by name, memory by lane addresses. Valid during the call only.
struct LaneContext {
  WarpContext* context;

  void access(Array<uint64_t> addresses) const {
    if (addresses.size() != kWarpSize) throw std::invalid_argument("32 lane addresses expected");
    std::memcpy(context->scratch->addr, addresses.data(), sizeof(context->scratch->addr));
  }
  static uint32_t descriptor(uint32_t space, uint32_t element, uint32_t count) { return space | element << 8 | count << 16; }

  nb::object load(uint32_t space, Array<uint64_t> addresses, uint32_t mask, uint32_t element, uint32_t count) const {
    access(addresses);
    std::vector<uint8_t> data(size_t{element} * count * kWarpSize);
    ws_load(context, mask, descriptor(space, element, count), data.data());
    return make_array(data.size(), 1, "uint8", data.data());
  }
  void store(uint32_t space, Array<uint64_t> addresses, uint32_t mask, uint32_t element, uint32_t count, Array<uint8_t> data) const {
    access(addresses);
    if (data.size() != size_t{element} * count * kWarpSize) throw std::invalid_argument("store data does not match element size and count");
    ws_store(context, mask, descriptor(space, element, count), data.data());
  }
  nb::list runtime(const std::string& name, uint32_t mask, const std::vector<int64_t>& constants, const std::vector<Array<uint8_t>>& values,
                   const std::vector<uint32_t>& result_bytes) const {
    struct alignas(64) Row {
      uint8_t bytes[kWarpSize * 16];
    };
    std::vector<Row> rows(values.size() + result_bytes.size());
    std::vector<const void*> in;
    std::vector<void*> out;
    for (size_t i = 0; i < values.size(); i++) {
      if (values[i].size() > sizeof(Row)) throw std::invalid_argument("a value of 32 lanes of at most 16 bytes is expected");
      std::memcpy(rows[i].bytes, values[i].data(), values[i].size());
      in.push_back(rows[i].bytes);
    }
    for (size_t i = 0; i < result_bytes.size(); i++) out.push_back(rows[values.size() + i].bytes);
    runtime_function(name)(context, mask, constants.data(), in.data(), out.data());
    nb::list results;
    for (size_t i = 0; i < result_bytes.size(); i++) results.append(make_array(size_t{result_bytes[i]} * kWarpSize, 1, "uint8", out[i]));
    return results;
  }
  static RuntimeFunction runtime_function(const std::string& name) {
    for (const auto& table : runtime_tables()) {
      for (const RuntimeEntry& entry : table) {
        if (name == entry.name) return entry.function;
      }
    }
    throw nb::key_error(("no runtime function '" + name + "'").c_str());
  }
  bool faulted() const { return context->scratch->fault != 0; }
};

struct Field {
  const char* name;
  size_t offset;
  uint32_t bits, lanes;
};

constexpr Field kFields[] = {
#define WS_LANES(f) {#f, offsetof(WarpContext, f), 32, kWarpSize}
#define WS_SCALAR(f) {#f, offsetof(WarpContext, f), sizeof(WarpContext::f) * 8, 1}
    WS_LANES(tid_x),      WS_LANES(tid_y),        WS_LANES(tid_z),     WS_SCALAR(scratch),      WS_SCALAR(shared_host),
    WS_SCALAR(shared_lo), WS_SCALAR(shared_span), WS_SCALAR(clock),    WS_SCALAR(globaltimer),  WS_SCALAR(gridid),
    WS_SCALAR(ntid_x),    WS_SCALAR(ntid_y),      WS_SCALAR(ntid_z),   WS_SCALAR(ctaid_x),      WS_SCALAR(ctaid_y),
    WS_SCALAR(ctaid_z),   WS_SCALAR(nctaid_x),    WS_SCALAR(nctaid_y), WS_SCALAR(nctaid_z),     WS_SCALAR(warpid),
    WS_SCALAR(nwarpid),   WS_SCALAR(smid),        WS_SCALAR(nsmid),    WS_SCALAR(dynamic_smem), WS_SCALAR(total_smem),
    WS_SCALAR(aggr_smem), WS_SCALAR(warp_in_cta),
#undef WS_LANES
#undef WS_SCALAR
};

nb::object special(const LaneContext& self, const std::string& name) {
  const auto* base = reinterpret_cast<const uint8_t*>(self.context);
  for (const Field& f : kFields) {
    if (name != f.name) continue;
    if (f.lanes > 1) return make_array(f.lanes, 4, "uint32", base + f.offset);
    uint64_t value = 0;
    std::memcpy(&value, base + f.offset, f.bits / 8);
    return nb::int_(value);
  }
  throw nb::key_error(("no context field '" + name + "'").c_str());
}

nb::dict context_fields() {
  nb::dict d;
  for (const Field& f : kFields) d[f.name] = nb::make_tuple(f.offset, f.bits, f.lanes);
  nb::dict scratch;
  scratch["addr"] = offsetof(Scratch, addr);
  scratch["host"] = offsetof(Scratch, host);
  scratch["fault"] = offsetof(Scratch, fault);
  scratch["space"] = offsetof(Scratch, space);
  scratch["access_mask"] = offsetof(Scratch, access_mask);
  scratch["global_host"] = offsetof(Scratch, global_host);
  d["scratch_fields"] = scratch;
  return d;
}

nb::dict runtime_symbols() {
  nb::dict d;
  d["ws_load"] = reinterpret_cast<uintptr_t>(&ws_load);
  d["ws_store"] = reinterpret_cast<uintptr_t>(&ws_store);
  d["ws_translate"] = reinterpret_cast<uintptr_t>(&ws_translate);
  for (const auto& table : runtime_tables()) {
    for (const RuntimeEntry& entry : table) d[entry.name] = reinterpret_cast<uintptr_t>(entry.function);
  }
  add_lane_symbols(d);
  return d;
}

nb::object allocation_tuple(const Allocation* a) {
  if (!a) return nb::none();
  return nb::make_tuple(a->address, a->bytes, a->name, a->read_only);
}

void bind_memory(nb::module_& m) {
  nb::class_<Memory>(m, "Memory")
      .def(nb::init<uint64_t>(), nb::arg("bytes"))
      .def(
          "allocate",
          [](Memory& self, uint64_t bytes, uint64_t align, std::string name, bool read_only) {
            return self.allocate(bytes, align, std::move(name), read_only);
          },
          nb::arg("bytes"), nb::arg("align") = 256, nb::arg("name") = "", nb::arg("read_only") = false)
      .def("release", &Memory::release, nb::arg("address"))
      .def(
          "write",
          [](Memory& self, uint64_t address, Array<uint8_t> data) {
            uint8_t* to = transfer(self, address, data.size());
            if (data.size()) std::memcpy(to, data.data(), data.size());
          },
          nb::arg("address"), nb::arg("data"))
      .def(
          "read",
          [](Memory& self, uint64_t address, uint64_t bytes) {
            const uint8_t* from = transfer(self, address, bytes);
            return nb::steal(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(from), static_cast<Py_ssize_t>(bytes)));
          },
          nb::arg("address"), nb::arg("bytes"))
      .def("find", [](const Memory& self, uint64_t address) { return allocation_tuple(self.find(address)); })
      .def("nearest", [](const Memory& self, uint64_t address) { return allocation_tuple(self.nearest(address)); })
      .def_prop_ro("bytes", &Memory::bytes)
      .def_prop_ro("used", &Memory::used);
}

void bind_program(nb::module_& m) {
  nb::class_<Program>(m, "Program")
      .def(
          "__init__",
          [](Program* self, std::string name, Array<uint8_t> records, Array<int64_t> operands, Array<uint16_t> uses,
             Array<uint32_t> branch_table, std::vector<std::string> timing, const nb::dict& sizes) {
            if (records.size() % sizeof(Record)) throw std::invalid_argument("records are not a whole number of 64-byte entries");
            auto size = [&](const char* key) { return nb::cast<uint32_t>(sizes[key]); };
            new (self) Program();
            self->name = std::move(name);
            self->records.resize(records.size() / sizeof(Record));
            std::memcpy(static_cast<void*>(self->records.data()), records.data(), records.size());
            self->operands = copy_of(operands);
            self->operands.push_back(0);  // a record without operands may point past the last one
            self->uses = copy_of(uses);
            self->branch_table = copy_of(branch_table);
            self->timing = std::move(timing);
            self->frame_bytes = size("frame_bytes");
            self->stack_bytes = size("stack_bytes");
            self->registers = size("registers");
            self->barriers = size("barriers");
            self->local_bytes = size("local_bytes");
            self->static_shared = size("static_shared");
          },
          nb::arg("name"), nb::arg("records"), nb::arg("operands"), nb::arg("uses"), nb::arg("branch_table"), nb::arg("timing"),
          nb::arg("sizes"))
      .def_prop_ro("name", [](const Program& p) { return p.name; })
      .def("__len__", [](const Program& p) { return p.records.size(); });
  m.attr("RECORD_BYTES") = sizeof(Record);
}

struct PollState {
  nb::object callable;
};

// Runs with the GIL taken; a pending Ctrl-C or an exception of the callable comes out of run() as itself.
bool poll_python(void* user, const Progress& progress) {
  nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  auto* state = static_cast<PollState*>(user);
  if (state->callable.is_none()) return true;
  return nb::cast<bool>(state->callable(progress.executed, progress.ctas_done));
}

void interpret_python(void* user, uint32_t record, uint8_t* regs, uint32_t mask, WarpContext* context) {
  nb::gil_scoped_acquire gil;
  auto* self = static_cast<MachineHandle*>(user);
  const size_t shape[1] = {self->machine->program().stack_bytes -
                           (static_cast<size_t>(regs - context->cta->regs) % self->machine->program().stack_bytes)};
  nb::ndarray<uint8_t, nb::numpy> view(regs, 1, shape, nb::none());
  self->interpreter(record, nb::cast(view, nb::rv_policy::reference), mask, LaneContext{context});
}

void bind_machine(nb::module_& m) {
  nb::class_<LaneContext>(m, "LaneContext")
      .def("special", &special)
      .def("load", &LaneContext::load)
      .def("store", &LaneContext::store)
      .def("runtime", &LaneContext::runtime)
      .def_prop_ro("faulted", &LaneContext::faulted)
      .def_prop_ro(
          "address", [](const LaneContext& self) { return reinterpret_cast<uintptr_t>(self.context); },
          "Of the WarpContext, to call a compiled handler with.");

  nb::class_<MachineHandle>(m, "Machine", "One launch of a program: its CTAs, warps and memory.")
      .def(
          "__init__",
          [](MachineHandle* self, nb::object program, nb::object memory, std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block,
             uint32_t dynamic_shared, nb::bytes params, uint32_t reserved_shared) {
            LaunchShape shape;
            std::copy(grid.begin(), grid.end(), shape.grid);
            std::copy(block.begin(), block.end(), shape.block);
            shape.dynamic_shared = dynamic_shared;
            const auto* bytes = reinterpret_cast<const uint8_t*>(params.c_str());
            new (self) MachineHandle{program, memory, nb::none(), nullptr};
            self->machine = std::make_unique<Machine>(nb::cast<const Program&>(program), nb::cast<Memory&>(memory), shape,
                                                      std::vector<uint8_t>(bytes, bytes + params.size()), reserved_shared);
          },
          nb::arg("program"), nb::arg("memory"), nb::arg("grid"), nb::arg("block"), nb::arg("dynamic_shared"), nb::arg("params"),
          nb::arg("reserved_shared"))
      .def("count_records", [](MachineHandle& self) { self.machine->count_records(); })
      .def(
          "interpret_with",
          [](MachineHandle& self, nb::object callable) {
            self.interpreter = std::move(callable);
            self.machine->interpret_with(&interpret_python, &self);
          },
          nb::arg("callable"), "Calls callable(record, regs, mask, lane_context) instead of compiled handlers.")
      .def(
          "run",
          [](MachineHandle& self, uint64_t resident, uint64_t budget, nb::object poll) {
            PollState state{std::move(poll)};
            nb::gil_scoped_release release;
            return self.machine->run(resident, budget, &poll_python, &state);
          },
          nb::arg("resident"), nb::arg("budget") = 0, nb::arg("poll") = nb::none(),
          "Runs all CTAs functionally, at most `resident` at a time. False when stopped by the budget (records) or by poll(executed, "
          "ctas_done).")
      .def_prop_ro("executed", [](MachineHandle& self) { return self.machine->progress().executed; })
      .def_prop_ro("thread_executed", [](MachineHandle& self) { return self.machine->progress().thread_executed; })
      .def_prop_ro("ctas_done", [](MachineHandle& self) { return self.machine->progress().ctas_done; })
      .def_prop_ro("per_record",
                   [](MachineHandle& self) {
                     const auto& v = self.machine->progress().per_record;
                     return make_array(v.size(), 8, "uint64", v.data());
                   })
      .def("places", [](MachineHandle& self) {
        nb::list out;
        for (const Machine::Place& p : self.machine->places()) {
          nb::dict d;
          d["pc"] = p.pc;
          d["state"] = static_cast<int>(p.state);
          d["barrier"] = p.barrier;
          d["warps"] = p.warps;
          d["cta"] = p.cta;
          d["warp"] = p.warp;
          d["mask"] = p.mask;
          d["wait_mask"] = p.wait_mask;
          d["arrived"] = p.arrived;
          d["expected"] = p.expected;
          out.append(d);
        }
        return out;
      });
}

}  // namespace

void bind_exec(nb::module_& m) {
  static PyObject* fault_type = nullptr;  // borrowed from the module, which lives as long as the interpreter
  nb::object type = nb::steal(PyErr_NewExceptionWithDoc("warpsight._core.KernelFault",
                                                        "A kernel went wrong; args[0] is a dict of the fault's fields.", nullptr, nullptr));
  fault_type = type.ptr();
  m.attr("KernelFault") = type;
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const KernelFault& f) {
      PyErr_SetObject(fault_type, fault_fields(f).ptr());
    }
  });
  bind_memory(m);
  bind_program(m);
  bind_machine(m);
  m.def("context_fields", &context_fields,
        "name -> (byte offset in the warp context, bits, lanes); 'scratch_fields' -> offsets behind the scratch pointer.");
  m.def("runtime_symbols", &runtime_symbols, "name -> address of the functions that compiled handlers call.");
}

}  // namespace ws

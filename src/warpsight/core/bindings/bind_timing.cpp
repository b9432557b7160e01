// The cycle-level GPU for Python (engine/launch.py is the user).
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>

#include "bind.h"
#include "config_dict.h"
#include "machine_handle.h"
#include "sm/gpu.h"
#include "sm/occupancy.h"

namespace nb = nanobind;

namespace ws {
namespace {

template <class T>
nb::object array_of(std::vector<T> values, std::vector<size_t> shape) {
  auto* data = new std::vector<T>(std::move(values));
  nb::capsule owner(data, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T>(data->data(), shape.size(), shape.data(), owner));
}

nb::object column(const std::vector<uint64_t>& values) { return array_of(values, {values.size()}); }

// Counters of one name: where each unit's value stands among the registry's entries.
struct Group {
  std::string unit;
  std::vector<std::pair<uint32_t, size_t>> places;  // (index of the unit, entry)
};

std::map<std::string, Group> groups_of(const CounterRegistry& registry) {
  std::map<std::string, Group> groups;
  const auto& entries = registry.entries();
  for (size_t i = 0; i < entries.size(); ++i) {
    Group& group = groups[entries[i].name];
    group.unit = entries[i].unit;
    group.places.emplace_back(entries[i].index, i);
  }
  for (auto& [name, group] : groups) std::sort(group.places.begin(), group.places.end());
  return groups;
}

nb::dict units_dict(const Gpu& gpu) {
  nb::dict out;
  const std::vector<uint64_t>& totals = gpu.sampler().totals();
  for (const auto& [name, group] : groups_of(gpu.counters())) {
    std::vector<uint64_t> values;
    for (const auto& place : group.places) values.push_back(totals[place.second]);
    out[name.c_str()] = nb::make_tuple(group.unit, column(values));
  }
  return out;
}

nb::object samples_dict(const Gpu& gpu, uint64_t interval) {
  if (!interval) return nb::none();
  const Sampler& sampler = gpu.sampler();
  const size_t n = sampler.cycles().size(), width = gpu.counters().entries().size();
  nb::dict values, units;
  for (const auto& [name, group] : groups_of(gpu.counters())) {
    std::vector<uint64_t> table(n * group.places.size());
    for (size_t t = 0; t < n; ++t)
      for (size_t u = 0; u < group.places.size(); ++u)
        table[t * group.places.size() + u] = sampler.values()[t * width + group.places[u].second];
    values[name.c_str()] = array_of(std::move(table), {n, group.places.size()});
    units[name.c_str()] = group.unit;
  }
  nb::dict out;
  out["interval"] = interval;
  out["cycles"] = column(sampler.cycles());
  out["values"] = values;
  out["units"] = units;
  return out;
}

nb::object lines_dict(const LineCounts* lines) {
  if (!lines) return nb::none();
  nb::dict out;
  out["issues"] = column(lines->issues);
  out["threads"] = column(lines->threads);
  out["threads_on"] = column(lines->threads_on);
  out["diverged"] = column(lines->diverged);
  out["sectors"] = column(lines->sectors);
  out["wavefronts"] = column(lines->wavefronts);
  out["conflicts"] = column(lines->conflicts);
  for (size_t i = 0; i < kStalls; ++i) out[(std::string("stall_") + kStallNames[i]).c_str()] = column(lines->stalls[i]);
  return out;
}

const char* end_name(LaunchEnd end) {
  switch (end) {
    case LaunchEnd::Finished:
      return "finished";
    case LaunchEnd::CycleBudget:
      return "cycles";
    case LaunchEnd::InstructionBudget:
      return "instructions";
    case LaunchEnd::Polled:
      return "poll";
  }
  return "";
}

nb::dict launch(Gpu& gpu, MachineHandle& machine, uint64_t samples, bool lines, uint64_t budget_cycles, uint64_t budget_instructions,
                nb::object poll) {
  LaunchOptions options{samples, lines, budget_cycles, budget_instructions, {}};
  options.poll = [&poll](const Progress& progress, Cycle cycle) {
    nb::gil_scoped_acquire gil;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    return poll.is_none() || nb::cast<bool>(poll(progress.executed, progress.ctas_done, cycle));
  };
  LaunchResult result;
  {
    nb::gil_scoped_release release;
    result = gpu.launch(*machine.machine, options);
  }
  nb::dict out, counters, stalls;
  for (const auto& [name, value] : result.counters) counters[name.c_str()] = value;
  for (const char* name : kStallNames) stalls[name] = static_cast<uint64_t>(result.counters[std::string("stall_") + name + ".sum"]);
  out["end"] = end_name(result.end);
  out["cycles"] = result.cycles;
  out["time_us"] = result.time_us;
  out["ctas_per_sm"] = result.ctas_per_sm;
  out["occupancy_limit"] = result.occupancy_limit;
  out["counters"] = counters;
  out["stalls"] = stalls;
  out["units"] = units_dict(gpu);
  out["samples"] = samples_dict(gpu, samples);
  out["lines"] = lines_dict(result.lines.get());
  return out;
}

}  // namespace

void bind_timing(nb::module_& m) {
  nb::class_<Gpu>(m, "Gpu", "A cycle-level GPU. Caches keep their contents from launch to launch.")
      .def(
          "__init__", [](Gpu* self, nb::dict config) { new (self) Gpu(config_from(config)); }, nb::arg("config"),
          "`config`: GpuModel.flat(). Raises ValueError naming the key.")
      .def("launch", &launch, nb::arg("machine"), nb::arg("samples") = 0, nb::arg("lines") = false, nb::arg("budget_cycles") = 0,
           nb::arg("budget_instructions") = 0, nb::arg("poll") = nb::none(),
           "Runs a machine's grid. Returns a dict: end ('finished', 'cycles', 'instructions', 'poll'), cycles, time_us, ctas_per_sm, "
           "occupancy_limit,\n"
           "counters (name to value), stalls (reason to warp cycles), units (counter to (kind of unit, array)), samples (None, or "
           "interval, cycles,\n"
           "values, units as report.result.Samples), lines (None, or column to array by record).\n"
           "poll(executed, ctas_done, cycle) is called every 50 ms; False stops. Raises KernelFault, ValueError; the GPU can be used again "
           "after both.")
      .def("flush_caches", &Gpu::flush_caches, "Cold caches, as a profiler makes them before a launch.");
  m.def(
      "occupancy",
      [](const nb::dict& config, const Program& program, uint32_t threads, uint32_t dynamic_shared) {
        LaunchShape shape;
        shape.block[0] = threads;
        shape.dynamic_shared = dynamic_shared;
        const Occupancy fit = occupancy_of(config_from(config), program, shape);
        return nb::make_tuple(fit.ctas, fit.limit);
      },
      nb::arg("config"), nb::arg("program"), nb::arg("threads"), nb::arg("dynamic_shared"),
      "CTAs of a program that an SM holds at a time, and what bounds them: 'warps', 'CTAs', 'registers' or 'shared memory'.");
}

}  // namespace ws

// Loads, stores and address translation of a warp, called from compiled handlers. Every lane is checked before any is touched.
#include <algorithm>
#include <cstring>

#include "machine.h"

namespace ws {
namespace {

// How a space's addresses map to host memory: host = base + address + lane * lane_stride for address in [lo, hi).
struct View {
  uint8_t* base;
  uint64_t lo, hi, lane_stride;
};

bool in_window(uint64_t address, uint64_t start, uint64_t bytes) { return address - start < bytes; }

Space space_of(uint64_t address) {
  if (in_window(address, kSharedWindow, kSharedWindowBytes)) return Space::Shared;
  if (in_window(address, kLocalWindow, kLocalWindowBytes)) return Space::Local;
  if (in_window(address, kParamWindow, kParamWindowBytes)) return Space::Param;
  return Space::Global;
}

View view_of(WarpContext* c, Space space, bool generic) {
  switch (space) {
    case Space::Shared: {
      Cta& cta = *c->cta;
      const uint64_t window = generic ? kSharedWindow : 0;
      return {cta.shared.data() - window, window + c->machine->reserved_shared(), window + cta.shared.size(), 0};
    }
    case Space::Local: {
      const uint64_t window = generic ? kLocalWindow : 0;
      return {c->local - window, window, window + c->local_bytes, c->local_bytes};
    }
    case Space::Param: {
      const uint64_t window = generic ? kParamWindow : 0;
      return {const_cast<uint8_t*>(c->params) - window, window, window + c->machine->param_bytes(), 0};
    }
    default:
      return {c->machine->memory().host(kGlobalBase) - kGlobalBase, 0, 0, 0};
  }
}

void fault(Scratch& s, FaultKind kind, uint32_t lane) {
  s.fault = static_cast<uint32_t>(kind);
  s.fault_lane = lane;
}

// Lowest and highest address and the alignment bits of the active lanes.
struct Range {
  uint64_t lo, hi, low_bits;
};

Range range_of(const uint64_t* addr, uint32_t mask) {
  Range r{~uint64_t{0}, 0, 0};
  if (mask == ~0u) {
    for (int i = 0; i < kWarpSize; i++) {
      r.lo = std::min(r.lo, addr[i]);
      r.hi = std::max(r.hi, addr[i]);
      r.low_bits |= addr[i];
    }
    return r;
  }
  for (uint32_t m = mask; m; m &= m - 1) {
    const uint64_t a = addr[__builtin_ctz(m)];
    r.lo = std::min(r.lo, a);
    r.hi = std::max(r.hi, a);
    r.low_bits |= a;
  }
  return r;
}

// Checks lanes of one space; true when all may go ahead.
bool check(WarpContext* c, Space space, const View& view, uint32_t mask, uint32_t bytes, bool write, const Range& range) {
  Scratch& s = *c->scratch;
  if (range.low_bits & (bytes - 1)) {
    for (uint32_t m = mask; m; m &= m - 1) {
      const uint32_t lane = __builtin_ctz(m);
      if (s.addr[lane] & (bytes - 1)) return fault(s, FaultKind::Misaligned, lane), false;
    }
  }
  const bool global = space == Space::Global || space == Space::Const;
  if (write && (space == Space::Const || space == Space::Param)) return fault(s, FaultKind::WriteConst, __builtin_ctz(mask)), false;
  Memory& memory = c->machine->memory();
  const uint64_t end = range.hi + bytes;
  if (global ? memory.covers(range.lo, end, write) : range.lo >= view.lo && end <= view.hi && end > range.hi) return true;
  for (uint32_t m = mask; m; m &= m - 1) {  // lanes of several allocations, or a bad one
    const uint32_t lane = __builtin_ctz(m);
    const uint64_t a = s.addr[lane];
    const bool ok = global ? memory.covers(a, a + bytes, write) : a >= view.lo && a + bytes <= view.hi && a + bytes > a;
    if (!ok) return fault(s, global && memory.covers(a, a + bytes, false) ? FaultKind::WriteConst : FaultKind::OutOfBounds, lane), false;
  }
  return true;
}

// Calls body(view, lanes, range) once per space touched; all lanes are checked before the first call. False on a fault.
template <class Body>
bool with_views(WarpContext* c, uint32_t mask, uint32_t desc, uint32_t bytes, bool write, Body&& body) {
  Scratch& s = *c->scratch;
  auto space = static_cast<Space>(desc & 0xff);
  const bool generic = space == Space::Generic;
  s.access_mask = mask;
  const Range range = range_of(s.addr, mask);
  if (generic) {
    space = space_of(s.addr[__builtin_ctz(mask)]);
    uint32_t lanes_of[6] = {};
    if (space != space_of(range.lo) || space != space_of(range.hi)) {
      for (uint32_t m = mask; m; m &= m - 1) {
        const uint32_t lane = __builtin_ctz(m);
        lanes_of[static_cast<int>(space_of(s.addr[lane]))] |= 1u << lane;
      }
      s.space = space;
      for (int pass = 0; pass < 2; pass++) {
        for (int k = 0; k < 6; k++) {
          if (!lanes_of[k]) continue;
          const auto each = static_cast<Space>(k);
          const View view = view_of(c, each, true);
          const Range part = range_of(s.addr, lanes_of[k]);
          if (pass == 0 ? !check(c, each, view, lanes_of[k], bytes, write, part) : false) return false;
          if (pass == 1) body(view, lanes_of[k], part);
        }
      }
      return true;
    }
  }
  s.space = space;
  const View view = view_of(c, space, generic);
  if (!check(c, space, view, mask, bytes, write, range)) return false;
  body(view, mask, range);
  return true;
}

template <class T>
void gather(const View& v, const uint64_t* addr, uint32_t mask, bool whole, const Range& range, uint32_t elements, T* out) {
  if (whole && v.lane_stride == 0 && range.lo == range.hi) {  // one address: broadcast; lanes of another space would lose their data
    T value[8];
    std::memcpy(value, v.base + range.lo, sizeof(T) * elements);
    for (uint32_t e = 0; e < elements; e++) std::fill_n(out + e * kWarpSize, kWarpSize, value[e]);
    return;
  }
  if (elements == 1) {
    if (mask == ~0u && v.lane_stride == 0) {
      if (range.hi - range.lo == (kWarpSize - 1) * sizeof(T) && addr[0] == range.lo) {
        bool consecutive = true;
        for (int i = 0; i < kWarpSize; i++) consecutive &= addr[i] == range.lo + i * sizeof(T);
        if (consecutive) {
          std::memcpy(out, v.base + range.lo, sizeof(T) * kWarpSize);
          return;
        }
      }
      for (int i = 0; i < kWarpSize; i++) std::memcpy(out + i, v.base + addr[i], sizeof(T));
      return;
    }
    for (uint32_t m = mask; m; m &= m - 1) {
      const uint32_t lane = __builtin_ctz(m);
      std::memcpy(out + lane, v.base + addr[lane] + lane * v.lane_stride, sizeof(T));
    }
    return;
  }
  for (uint32_t m = mask; m; m &= m - 1) {
    const uint32_t lane = __builtin_ctz(m);
    const uint8_t* p = v.base + addr[lane] + lane * v.lane_stride;
    for (uint32_t e = 0; e < elements; e++) std::memcpy(out + e * kWarpSize + lane, p + e * sizeof(T), sizeof(T));
  }
}

template <class T>
void scatter(const View& v, const uint64_t* addr, uint32_t mask, const Range& range, uint32_t elements, const T* in) {
  if (elements == 1 && mask == ~0u && v.lane_stride == 0 && range.hi - range.lo == (kWarpSize - 1) * sizeof(T) && addr[0] == range.lo) {
    bool consecutive = true;
    for (int i = 0; i < kWarpSize; i++) consecutive &= addr[i] == range.lo + i * sizeof(T);
    if (consecutive) {
      std::memcpy(v.base + range.lo, in, sizeof(T) * kWarpSize);
      return;
    }
  }
  for (uint32_t m = mask; m; m &= m - 1) {  // ascending lanes: of several on one address the highest wins
    const uint32_t lane = __builtin_ctz(m);
    uint8_t* p = v.base + addr[lane] + lane * v.lane_stride;
    for (uint32_t e = 0; e < elements; e++) std::memcpy(p + e * sizeof(T), in + e * kWarpSize + lane, sizeof(T));
  }
}

struct Wide {
  uint64_t half[2];
};

template <class Body>
void by_size(uint32_t element, Body&& body) {
  switch (element) {
    case 1:
      return body(uint8_t{});
    case 2:
      return body(uint16_t{});
    case 4:
      return body(uint32_t{});
    case 8:
      return body(uint64_t{});
    default:
      return body(Wide{});
  }
}

}  // namespace

extern "C" {

void ws_load(WarpContext* c, uint32_t mask, uint32_t desc, void* data) {
  const uint32_t element = desc >> 8 & 0xff, elements = desc >> 16;
  with_views(c, mask, desc, element * elements, false, [&](const View& view, uint32_t lanes, const Range& range) {
    by_size(element, [&]<class T>(T) { gather<T>(view, c->scratch->addr, lanes, lanes == mask, range, elements, static_cast<T*>(data)); });
  });
}

void ws_store(WarpContext* c, uint32_t mask, uint32_t desc, const void* data) {
  const uint32_t element = desc >> 8 & 0xff, elements = desc >> 16;
  with_views(c, mask, desc, element * elements, true, [&](const View& view, uint32_t lanes, const Range& range) {
    by_size(element, [&]<class T>(T) { scatter<T>(view, c->scratch->addr, lanes, range, elements, static_cast<const T*>(data)); });
  });
}

uint8_t* ws_row(WarpContext* c, uint32_t mask, uint32_t desc, uint64_t first, uint64_t bytes, uint32_t write) {
  Scratch& s = *c->scratch;
  auto space = static_cast<Space>(desc & 0xff);
  const bool generic = space == Space::Generic;
  if (generic) space = space_of(first);
  const uint32_t size = (desc >> 8 & 0xff) * (desc >> 16);
  if (space == Space::Local || (first & (size - 1))) return nullptr;
  uint8_t* base;
  if (space == Space::Global || space == Space::Const) {
    Memory& memory = c->machine->memory();
    if ((write && space == Space::Const) || !memory.covers(first, first + bytes, write != 0)) return nullptr;
    base = memory.host(kGlobalBase) - kGlobalBase;
  } else {
    const View view = view_of(c, space, generic);
    if ((write && space == Space::Param) || first < view.lo || first + bytes > view.hi || first + bytes < first) return nullptr;
    base = view.base;
  }
  s.access_mask = mask;
  s.space = space;
  return base + first;
}

void ws_translate(WarpContext* c, uint32_t mask, uint32_t desc, uint32_t write) {
  const uint32_t element = desc >> 8 & 0xff, elements = desc >> 16;
  with_views(c, mask, desc, element * elements, write != 0, [&](const View& view, uint32_t lanes, const Range&) {
    Scratch& s = *c->scratch;
    for (uint32_t m = lanes; m; m &= m - 1) {
      const uint32_t lane = __builtin_ctz(m);
      s.host[lane] = view.base + s.addr[lane] + lane * view.lane_stride;
    }
  });
}

}  // extern "C"
}  // namespace ws

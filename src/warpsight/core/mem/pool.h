// Objects by index, used again after release: no allocation in steady state. A reference is only good until the next take().
#pragma once

#include <cstdint>
#include <vector>

namespace ws {

inline constexpr uint32_t kNone = ~uint32_t{0};

template <class T>
class Pool {
 public:
  uint32_t take(const T& value) {
    if (free_.empty()) {
      items_.push_back(value);
      return static_cast<uint32_t>(items_.size() - 1);
    }
    const uint32_t index = free_.back();
    free_.pop_back();
    items_[index] = value;
    return index;
  }
  void release(uint32_t index) { free_.push_back(index); }
  T& operator[](uint32_t index) { return items_[index]; }
  const T& operator[](uint32_t index) const { return items_[index]; }
  void prefetch(uint32_t index) const {  // into the host's caches
    __builtin_prefetch(&items_[index]);
    if constexpr (sizeof(T) > 64) __builtin_prefetch(reinterpret_cast<const char*>(&items_[index]) + 64);
  }
  size_t used() const { return items_.size() - free_.size(); }
  void clear() { items_.clear(), free_.clear(); }

 private:
  std::vector<T> items_;
  std::vector<uint32_t> free_;
};

}  // namespace ws

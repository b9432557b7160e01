// The GPU model as the core reads it: a flat map "section.key" -> value, filled from a validated TOML by Python (model/schema.py).
// Each component fetches its own keys in its constructor; a key that is missing is an error that names it.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace ws {

class Config {
 public:
  using Value = std::variant<int64_t, double, std::string, std::vector<double>, std::vector<std::string>>;

  void set(const std::string& key, Value value) { values_[key] = std::move(value); }
  bool has(const std::string& key) const { return values_.count(key) != 0; }

  uint64_t u(const std::string& key) const { return static_cast<uint64_t>(std::get<int64_t>(at(key))); }
  bool flag(const std::string& key) const { return u(key) != 0; }
  double real(const std::string& key) const {
    const Value& v = at(key);
    return std::holds_alternative<int64_t>(v) ? static_cast<double>(std::get<int64_t>(v)) : std::get<double>(v);
  }
  const std::string& text(const std::string& key) const { return std::get<std::string>(at(key)); }
  const std::vector<double>& list(const std::string& key) const { return std::get<std::vector<double>>(at(key)); }
  const std::vector<std::string>& texts(const std::string& key) const { return std::get<std::vector<std::string>>(at(key)); }
  const std::map<std::string, Value>& all() const { return values_; }

 private:
  const Value& at(const std::string& key) const {
    auto it = values_.find(key);
    if (it == values_.end()) throw std::invalid_argument("GPU model has no key '" + key + "'");
    return it->second;
  }
  std::map<std::string, Value> values_;
};

}  // namespace ws

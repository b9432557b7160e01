// Variants by name: a component's alternatives register a factory under the name that the GPU file uses.
#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

namespace ws {

template <class Interface, class... Arguments>
class Registry {
 public:
  using Factory = std::function<std::unique_ptr<Interface>(Arguments...)>;
  Registry(std::string what, std::initializer_list<std::pair<const std::string, Factory>> entries)
      : what_(std::move(what)), factories_(entries) {}

  // Throws std::invalid_argument that lists the known names.
  std::unique_ptr<Interface> make(const std::string& name, Arguments... arguments) const {
    auto it = factories_.find(name);
    if (it != factories_.end()) return it->second(arguments...);
    std::string known;
    for (const auto& entry : factories_) known += (known.empty() ? "" : ", ") + entry.first;
    throw std::invalid_argument("no " + what_ + " '" + name + "'; known: " + known);
  }

 private:
  std::string what_;
  std::map<std::string, Factory> factories_;
};

}  // namespace ws

#include "kernel_templates.h"

#include <algorithm>

#include "../../core/error.h"

namespace vd::cuda {
namespace {

using Lines = std::vector<std::string>;

constexpr std::string_view kBegin = "\n.visible ", kEnd = "\n}", kBody = "\n{", kPlace = "VD_EXPRESSION";

/** Lines without the blanks around them, and without empty ones and comments. */
Lines lines_of(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (!line.empty() && !line.starts_with("//")) lines.emplace_back(line);
  }
  return lines;
}

/** The name of a kernel or function, from its text: `.visible .entry NAME(` or `.visible .func (RESULT) NAME(` is the first line. */
std::string name_of(std::string_view text) {
  const std::string_view first = text.substr(0, text.find('\n'));
  const std::string_view before = first.substr(0, first.rfind('('));
  return std::string(before.substr(before.rfind(' ') + 1));
}

Lines registers_of(std::string_view line) {
  Lines names;
  for (size_t at = line.find('%'); at != std::string_view::npos; at = line.find('%', at)) {
    const size_t end = std::min(line.find_first_of(",; ", at), line.size());
    names.emplace_back(line.substr(at, end - at));
    at = end;
  }
  return names;
}

/** The register of a value of an expression; functions have none of this name. */
std::string value(int number) { return "%value" + std::to_string(number); }

void write_line(std::string_view line, std::string& out) { out.append(line).append("\n"); }
void write_move(const std::string& to, const std::string& from, std::string& out) { write_line("mov.f32 " + to + ", " + from + ";", out); }

/** A product or sum says how it is rounded: else the driver may join those of neighbouring functions. */
std::string rounded(const std::string& line) {
  for (const char* plain : {"add.f32", "sub.f32", "mul.f32"})
    if (line.starts_with(plain)) return line.substr(0, 3) + ".rn" + line.substr(3);
  return line;
}

/** A function as a block, whose registers and labels are its own. result: number of the value that it makes. */
void write_step(const Lines& function, const ExpressionStep& step, int result, std::string& out) {
  write_line("{", out);
  for (const std::string& line : function) {
    if (line.starts_with("ld.param")) {
      const int input = line.find("_param_1]") != std::string::npos ? 1 : 0;
      write_move(registers_of(line).front(), value(step.inputs[input]), out);
    } else if (line.starts_with("st.param")) {
      write_move(value(result), registers_of(line).back(), out);
    } else if (line != "ret;") {
      write_line(rounded(line), out);
    }
  }
  write_line("}", out);
}

/** What a map has for a name. Throws Error(unsupported) where it has nothing. */
const Lines& find(const std::map<std::string, Lines, std::less<>>& map, const std::string& name) {
  const auto found = map.find(name);
  if (found == map.end())
    throw Error(ErrorCode::unsupported, name, "text of this name beside the device code", "none",
                "Device code and addon come from different builds: run `pnpm build:cubins`.");
  return found->second;
}

}  // namespace

KernelTemplates::KernelTemplates(std::string_view text) {
  size_t begin = text.find(kBegin);
  header_ = lines_of(text.substr(0, begin));
  while (begin != std::string_view::npos) {
    const size_t end = text.find(kEnd, begin);
    const std::string_view piece = text.substr(begin + 1, end - begin);
    if (piece.find(" .entry ") < piece.find('(')) kernels_[name_of(piece)] = lines_of(std::string(piece) + "}");
    else functions_[name_of(piece)] = lines_of(piece.substr(piece.find(kBody) + kBody.size()));
    begin = text.find(kBegin, end);
  }
}

std::string KernelTemplates::complete(const std::string& kernel, const Expression& expression) const {
  std::string out;
  for (const std::string& line : header_) write_line(line, out);
  for (const std::string& line : find(kernels_, kernel)) {
    if (line.starts_with(kPlace)) write_expression(line, expression, out);
    else write_line(line, out);
  }
  return out;
}

void KernelTemplates::write_expression(std::string_view place, const Expression& expression, std::string& out) const {
  const Lines registers = registers_of(place);
  const int num_inputs = static_cast<int>(registers.size()) - 1;
  write_line("{", out);
  write_line(".reg .f32 %value<" + std::to_string(num_inputs + static_cast<int>(expression.steps.size())) + ">;", out);
  for (int i = 0; i < num_inputs; ++i) write_move(value(i), registers[static_cast<size_t>(i) + 1], out);
  int result = num_inputs;
  for (const ExpressionStep& step : expression.steps) write_step(find(functions_, step.function), step, result++, out);
  write_move(registers.front(), value(expression.result), out);
  write_line("}", out);
}

}  // namespace vd::cuda

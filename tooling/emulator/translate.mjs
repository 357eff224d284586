// Makes of kernels' sources what a C++ compiler of the host takes.

/** Inline PTX outside `device/ptx`, and what it says in C++. A statement that is not here is an error where it is compiled. */
const STATEMENTS = [
  // Keeps a value in a register, nothing else.
  [/asm volatile\("" : (?:"\+r"\([^()]*\)(?:, )?)+\);/g, ";"],
  [/asm volatile\("mov\.u32 %0, %%tid\.x;" : "=r"\((\w+)\)\);/g, "$1 = static_cast<int>(threadIdx.x);"],
  [/asm volatile\("cvt\.rn\.f32\.s32 %0, %1;" : "=f"\((\w+)\) : "r"\((\w+)\)\);/g, "$1 = static_cast<float>($2);"],
  [
    /asm volatile\("ld\.shared\.b32 %0, \[%1\];" : "=r"\((\w+)\) : "r"\((\w+)\)\);/g,
    "$1 = vd::emulator::load_shared<uint32_t>($2);",
  ],
  [
    /asm volatile\("st\.shared\.v2\.f32 \[%0\], \{%1,%2\};" ::"r"\((.*)\), "f"\(([\w.]+)\), "f"\(([\w.]+)\)\s*: "memory"\);/g,
    "vd::emulator::store_shared($1, make_float2($2, $3));",
  ],
  [
    /asm volatile\("ld\.shared\.v2\.f32 \{%0,%1\}, \[%2\];"\s*: "=f"\((.*)\.x\), "=f"\(\1\.y\)\s*: "r"\((.*)\)\);/g,
    "$1 = vd::emulator::load_shared<float2>($2);",
  ],
];

/** A declaration of dynamic shared memory: type, name. */
const DYNAMIC_SHARED = /extern __shared__ (?:__align__\(\d+\) )?([\w:]+) (\w+)\[\];/g;
/** One of variables in shared memory: alignment, type, names with their sizes. */
const SHARED = /(?<!extern )__shared__ (?:__align__\((\d+)\) )?([\w:]+(?:<[^;=]*>)?) ([^;=]+);/g;

/** Splits at commas that are in no bracket. */
function declarators(text) {
  const parts = [""];
  let depth = 0;
  for (const character of text) {
    if ("[(".includes(character)) depth++;
    if ("])".includes(character)) depth--;
    if (character === "," && depth === 0) parts.push("");
    else parts[parts.length - 1] += character;
  }
  return parts.map((part) => part.trim());
}

function sharedVariable(alignment, type, declarator) {
  const [, name, sizes] = /^(\w+)(.*)$/s.exec(declarator);
  const whole = `std::type_identity_t<${type}${sizes}>`;
  return (
    `static const char ${name}Place = 0; auto& ${name} = *static_cast<std::add_pointer_t<${whole}>>(` +
    `vd::emulator::static_shared(&${name}Place, sizeof(${whole}), std::max<size_t>(${alignment}, alignof(${whole}))));`
  );
}

/** Returns a source's text for the host. smVersion: of the GPU, as 90. */
export function translate(text, smVersion) {
  let result = text
    .replaceAll("defined(__CUDA_ARCH__)", "1")
    .replaceAll("__CUDA_ARCH__", `${smVersion * 10}`)
    .replace(DYNAMIC_SHARED, "$1* const $2 = static_cast<$1*>(vd::emulator::dynamic_shared());")
    .replace(SHARED, (_, alignment, type, names) =>
      declarators(names)
        .map((each) => sharedVariable(alignment ?? 1, type, each))
        .join(" "),
    );
  for (const [pattern, replacement] of STATEMENTS) result = result.replace(pattern, replacement);
  return result;
}

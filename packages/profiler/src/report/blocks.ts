/** The blocks of a model that a row's name leads through: `down_blocks.0.resnets.1.conv1` is `conv1` in `resnets.1` in
 *  `down_blocks.0`. Numbers belong to the word before them. */
export function blockPath(name: string): string[] {
  const path: string[] = [];
  for (const part of name.split("."))
    if (/^\d+$/.test(part) && path.length > 0) path[path.length - 1] += `.${part}`;
    else path.push(part);
  return path;
}

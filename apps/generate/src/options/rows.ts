import { type CliRow, cliRows } from "@vd/svd-pipeline/options";
import { type CommandSpec, GENERATE } from "./commands";

/** Every option of a command, in the order of its help. */
export const rowsOf = ({ groups }: CommandSpec): readonly CliRow[] => groups.flatMap(({ table }) => cliRows(table));

/** True for a word that is no option: `[IMAGE]`, `<MODEL>`. */
export const isArgument = ({ form }: CliRow): boolean => /^[[<]/.test(form.flags);

/** Every option of a generation, in the order of its help. */
export const ROWS: readonly CliRow[] = rowsOf(GENERATE);

/** The rows that config files may hold, by their keys there. */
export const FILE_ROWS: ReadonlyMap<string, CliRow> = new Map(
  ROWS.filter(({ form }) => form.inFile !== false).map((row) => [row.key, row]),
);

/** The row that sets an option of the library, by the option's name. */
export const ROW_OF_OPTION: ReadonlyMap<string, CliRow> = new Map(
  ROWS.flatMap((row) => row.options.map((name) => [name, row] as const)),
);

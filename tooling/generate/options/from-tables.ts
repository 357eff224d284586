import { join } from "node:path";
import { pathToFileURL } from "node:url";
import {
  BATCH_TABLE,
  cliRows,
  configSchema,
  GENERATE_TABLE,
  LOAD_TABLE,
  type OptionGroup,
} from "@vd/svd-pipeline/options";
import { type ManCommand, manPage } from "./man";
import { optionsPage } from "./page";
import { optionTypes } from "./typescript";

/** A command of vd-studio: one table, and perhaps a word that follows. */
interface StudioCommand {
  words: string;
  doc: string;
  table: OptionGroup["table"];
  operand?: string;
}

const studioCommand = ({ words, operand = "", doc, table }: StudioCommand): ManCommand => ({
  words: `${words} ${operand}`.trim(),
  doc,
  groups: [{ title: "Options", intro: "", table, isApp: true }],
});

/** Returns every file that follows from the option tables, with its text. root: the repository's folder. */
export async function filesOf(root: string): Promise<[path: string, text: string][]> {
  const app = (await import(pathToFileURL(join(root, "apps/generate/src/options/tables.ts")).href)) as {
    OUTPUT_TABLE: OptionGroup["table"];
    RUN_TABLE: OptionGroup["table"];
    GROUPS: readonly OptionGroup[];
  };
  const commands = (await import(pathToFileURL(join(root, "apps/generate/src/options/commands.ts")).href)) as {
    PROGRAM: string;
    ALIAS: string;
    GENERATE: ManCommand;
    FURTHER_COMMANDS: readonly ManCommand[];
    EXAMPLES: readonly (readonly [string, string])[];
    EXIT_STATUSES: string;
  };
  const live = (await import(pathToFileURL(join(root, "apps/live/src/options/commands.ts")).href)) as {
    PROGRAM: string;
    PLAY: ManCommand;
    FURTHER_COMMANDS: readonly ManCommand[];
    EXAMPLES: readonly (readonly [string, string])[];
    EXIT_STATUSES: string;
  };
  const studio = (await import(pathToFileURL(join(root, "apps/studio/src/options/commands.ts")).href)) as {
    PROGRAM: string;
    SERVE: StudioCommand;
    FURTHER_COMMANDS: readonly StudioCommand[];
    EXAMPLES: readonly (readonly [string, string])[];
    EXIT_STATUSES: string;
  };
  const inFile = app.GROUPS.flatMap(({ table }) => cliRows(table)).filter(({ form }) => form.inFile !== false);
  const schema = configSchema("Config file of vd-generate", inFile);
  const values = (name: string, doc: string, table: OptionGroup["table"]) =>
    ({ name, doc, table, form: "values" }) as const;
  return [
    [
      join(root, "packages/svd-pipeline/src/options/option-types.generated.ts"),
      optionTypes(
        [
          { name: "LoadOptions", doc: "How to open a model.", table: LOAD_TABLE, form: "given" },
          {
            name: "GenerateOptions",
            doc: "What to generate. Everything but the picture has a default that suits the model.",
            table: GENERATE_TABLE,
            form: "given",
          },
          {
            name: "BatchLists",
            doc: "What a batch takes besides the options of one generation.",
            table: BATCH_TABLE,
            form: "given",
          },
          { name: "GenerateDefaults", doc: "The defaults of a model.", table: GENERATE_TABLE, form: "defaults" },
          values("LoadValues", "How to open a model, with all defaults.", LOAD_TABLE),
          values("GenerateValues", "What to generate, with all defaults.", GENERATE_TABLE),
        ],
        "options/load-table.ts, options/generate-table.ts and options/batch-table.ts",
        "./value-types",
      ),
    ],
    [
      join(root, "apps/generate/src/options/option-types.generated.ts"),
      optionTypes(
        [
          values("OutputSettings", "What becomes of the video, with all defaults.", app.OUTPUT_TABLE),
          values("RunSettings", "What one run works on and what it tells, with all defaults.", app.RUN_TABLE),
        ],
        "options/tables.ts",
        "./value-types",
      ),
    ],
    [join(root, "apps/generate/schema/config.schema.json"), `${JSON.stringify(schema, null, 2)}\n`],
    [join(root, "docs/options.md"), optionsPage(app.GROUPS)],
    [
      join(root, "apps/generate/man/vd-generate.1"),
      manPage({
        ...{ program: commands.PROGRAM, alias: commands.ALIAS, main: commands.GENERATE },
        further: commands.FURTHER_COMMANDS,
        ...{ examples: commands.EXAMPLES, exitStatuses: commands.EXIT_STATUSES, hasConfigFile: true },
      }),
    ],
    [
      join(root, "apps/live/man/vd-live.1"),
      manPage({
        ...{ program: live.PROGRAM, main: live.PLAY, further: live.FURTHER_COMMANDS },
        ...{ examples: live.EXAMPLES, exitStatuses: live.EXIT_STATUSES },
      }),
    ],
    [
      join(root, "apps/studio/man/vd-studio.1"),
      manPage({
        program: studio.PROGRAM,
        main: studioCommand(studio.SERVE),
        further: studio.FURTHER_COMMANDS.map(studioCommand),
        ...{ examples: studio.EXAMPLES, exitStatuses: studio.EXIT_STATUSES },
      }),
    ],
  ];
}

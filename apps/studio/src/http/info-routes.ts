import {
  defaultText,
  LOAD_TABLE,
  type OptionRow,
  type OptionTable,
  PUBLISHED_FACTOR,
  valueSchema,
  type WrittenKind,
} from "@vd/svd-pipeline/options";
import type { FastifyInstance } from "fastify";
import { SETTING_ROWS } from "../inputs/settings";
import { Problem } from "./problem";
import { SCHEMAS } from "./schemas";
import { type OfferedModel, offeredNames, type Studio } from "./studio";

/** Returns what the API shows of a row of the option contract. */
function rowView(
  group: "video" | "device",
  name: string,
  kind: WrittenKind,
  { unit, doc, default: fallback }: OptionRow,
) {
  const { min, max, values, pattern } = kind as {
    min?: number;
    max?: number;
    values?: readonly string[];
    pattern?: string;
  };
  const least = kind.kind === "side" ? PUBLISHED_FACTOR : undefined;
  return {
    ...{
      name,
      group,
      kind: kind.kind,
      min: min ?? least ?? null,
      max: max ?? null,
      values: values ?? null,
      pattern: pattern ?? null,
    },
    ...{ multipleOf: least ?? null, unit: unit ?? null },
    default: fallback?.kind === "always" ? fallback.value : null,
    defaultText: defaultText(fallback) ?? null,
    ...{ doc, schema: valueSchema(kind) },
  };
}

/** Device rows are the server's own; they are shown so that a client knows what decides the speed. */
const DEVICE_ROWS = Object.entries(LOAD_TABLE as OptionTable).flatMap(([name, row]) =>
  row.kind.kind === "object" ? [] : [rowView("device", name, row.kind, row)],
);

const modelView = ({ place, title, ownedBy, createdAt, defaults }: OfferedModel) => ({
  ...{ id: place.id, object: "model", created: Math.floor(createdAt / 1000), owned_by: ownedBy },
  ...{ title, device: place.device, defaults },
});

function offered(models: readonly OfferedModel[], id: string): OfferedModel {
  const found = models.find(({ place }) => place.id === id);
  if (found) return found;
  throw new Problem(404, "not_found", `There is no such model. ${offeredNames(models)}`);
}

/** Adds what the server can do and whether it is well. */
export function addInfoRoutes(app: FastifyInstance, { models, queue, version }: Studio): void {
  app.get("/v1/models", { schema: SCHEMAS.models }, async () => ({ object: "list", data: models.map(modelView) }));
  app.get<{ Params: { id: string } }>("/v1/models/:id", { schema: SCHEMAS.model }, async ({ params }) =>
    modelView(offered(models, params.id)),
  );
  app.get("/v1/options", { schema: SCHEMAS.options }, async () => ({
    object: "list",
    data: [...SETTING_ROWS.map(({ name, kind, row }) => rowView("video", name, kind, row)), ...DEVICE_ROWS],
  }));
  app.get("/healthz", { schema: { hide: true } }, async () => ({ status: "ok", version }));
  app.get("/readyz", { schema: { hide: true } }, async (_, reply) => {
    const isReady = await queue.isReady().catch(() => false);
    return reply.code(isReady ? 200 : 503).send({ status: isReady ? "ready" : "unavailable" });
  });
}

import type { MultipartFile } from "@fastify/multipart";
import type { FastifyError, FastifyRequest } from "fastify";
import { Problem } from "../http/problem";
import type { Fields } from "./settings";

/** What a request says: fields, and a picture where a form brought one. */
export interface RequestFields {
  fields: Fields;
  file: Uint8Array | undefined;
}

/** Names of the field with the picture. */
export const PICTURE_FIELDS = ["image", "input_reference"] as const;

const tooLarge = (what: string) => new Problem(413, "too_large", `${what} larger than this server takes.`);

const isPicture = (name: string): boolean => (PICTURE_FIELDS as readonly string[]).includes(name);

/** Lists and objects are JSON in a form. */
function formValue(name: string, text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    throw new Problem(400, "attr", `The field "${name}" begins like JSON and is none.`, name);
  }
}

async function fileOf(part: MultipartFile): Promise<Uint8Array> {
  if (!isPicture(part.fieldname))
    throw new Problem(400, "attr", `Expected the picture as "image", got a file "${part.fieldname}".`);
  const { file } = part;
  // At the limit, and not when the rest has come too.
  file.once("limit", () => file.destroy(tooLarge("The picture is")));
  const pieces: Buffer[] = [];
  for await (const piece of file as AsyncIterable<Buffer>) pieces.push(piece);
  return Buffer.concat(pieces);
}

async function formFields(request: FastifyRequest, maxBytes: number): Promise<RequestFields> {
  // What says how large it is needs not be read to be refused.
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw tooLarge("The form is");
  const fields: Record<string, unknown> = Object.create(null);
  let file: Uint8Array | undefined;
  let numBytes = 0;
  for await (const part of request.parts()) {
    if (part.type === "file") file = await fileOf(part);
    else if (part.valueTruncated) throw tooLarge(`The field "${part.fieldname}" is`);
    else fields[part.fieldname] = formValue(part.fieldname, String(part.value));
    // All fields together count, not only each by itself.
    numBytes += part.type === "file" ? file!.length : Buffer.byteLength(String(part.value));
    if (numBytes > maxBytes) throw tooLarge("The form is");
  }
  return { fields, file };
}

/** A form that breaks off, or that is none, is the client's mistake. */
function asProblem(error: unknown): never {
  if (error instanceof Problem || (error as FastifyError).statusCode !== undefined) throw error;
  throw new Problem(400, "bad_form", `The form cannot be read: ${(error as Error).message}.`);
}

/** Reads the fields of a request, JSON or a form of at most `maxBytes`. @throws Problem */
export async function requestFields(request: FastifyRequest, maxBytes: number): Promise<RequestFields> {
  if (request.isMultipart()) return formFields(request, maxBytes).catch(asProblem);
  const { body } = request;
  if (typeof body !== "object" || body === null || Array.isArray(body))
    throw new Problem(400, "attr", "Expected a JSON object, or a form with the same fields.");
  return { fields: body as Fields, file: undefined };
}

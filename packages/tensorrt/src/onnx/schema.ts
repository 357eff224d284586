import protobuf from "protobufjs";

/** Element types of ONNX tensors by their number. Source: onnx/onnx onnx/onnx.proto TensorProto.DataType. */
export const ELEMENT_TYPES = {
  ...{ float: 1, uint8: 2, int8: 3, int32: 6, int64: 7, bool: 9, float16: 10, double: 11 },
  float8e4m3fn: 17,
} as const;

/** An element type that exported models use. */
export type ElementType = keyof typeof ELEMENT_TYPES;

/** Bytes of one element. */
export const ELEMENT_BYTES: Readonly<Record<ElementType, number>> = {
  float: 4,
  uint8: 1,
  int8: 1,
  int32: 4,
  int64: 8,
  bool: 1,
  float16: 2,
  double: 8,
  float8e4m3fn: 1,
};

/** Which of an attribute's fields counts. Source: onnx/onnx onnx/onnx.proto AttributeProto.AttributeType. */
export const ATTRIBUTE_TYPES = { float: 1, int: 2, string: 3, tensor: 4, floats: 6, ints: 7 } as const;

/** `data_location` of a tensor whose bytes lie in another file. */
export const EXTERNAL = 1;

type Rule = "repeated";
const field = (id: number, type: string, rule?: Rule) => ({ id, type, ...(rule ? { rule } : {}) });
const packed = (id: number, type: string) => ({ id, type, rule: "repeated", options: { packed: true } });

/** The messages of the ONNX format with the fields that exported models use, by their field numbers.
 *  Source: onnx/onnx onnx/onnx.proto. */
const MESSAGES = {
  ModelProto: {
    fields: {
      irVersion: field(1, "int64"),
      producerName: field(2, "string"),
      producerVersion: field(3, "string"),
      domain: field(4, "string"),
      docString: field(6, "string"),
      graph: field(7, "GraphProto"),
      opsetImport: field(8, "OperatorSetIdProto", "repeated"),
      metadataProps: field(14, "StringStringEntryProto", "repeated"),
    },
  },
  OperatorSetIdProto: { fields: { domain: field(1, "string"), version: field(2, "int64") } },
  StringStringEntryProto: { fields: { key: field(1, "string"), value: field(2, "string") } },
  GraphProto: {
    fields: {
      node: field(1, "NodeProto", "repeated"),
      name: field(2, "string"),
      initializer: field(5, "TensorProto", "repeated"),
      input: field(11, "ValueInfoProto", "repeated"),
      output: field(12, "ValueInfoProto", "repeated"),
    },
  },
  NodeProto: {
    fields: {
      input: field(1, "string", "repeated"),
      output: field(2, "string", "repeated"),
      name: field(3, "string"),
      opType: field(4, "string"),
      attribute: field(5, "AttributeProto", "repeated"),
      domain: field(7, "string"),
    },
  },
  AttributeProto: {
    fields: {
      name: field(1, "string"),
      f: field(2, "float"),
      i: field(3, "int64"),
      s: field(4, "bytes"),
      t: field(5, "TensorProto"),
      floats: packed(7, "float"),
      ints: packed(8, "int64"),
      type: field(20, "int32"),
    },
  },
  TensorProto: {
    fields: {
      dims: packed(1, "int64"),
      dataType: field(2, "int32"),
      name: field(8, "string"),
      rawData: field(9, "bytes"),
      externalData: field(13, "StringStringEntryProto", "repeated"),
      dataLocation: field(14, "int32"),
    },
  },
  ValueInfoProto: { fields: { name: field(1, "string"), type: field(2, "TypeProto") } },
  TypeProto: { fields: { tensorType: field(1, "TensorTypeProto") } },
  TensorTypeProto: { fields: { elemType: field(1, "int32"), shape: field(2, "TensorShapeProto") } },
  TensorShapeProto: { fields: { dim: field(1, "DimensionProto", "repeated") } },
  DimensionProto: { fields: { dimValue: field(1, "int64"), dimParam: field(2, "string") } },
};

/** A node's attribute as it is stored. */
export interface AttributeProto {
  name: string;
  type: number;
  f?: number;
  i?: number;
  s?: Uint8Array;
  floats?: readonly number[];
  ints?: readonly number[];
}

/** One operation. */
export interface NodeProto {
  name: string;
  opType: string;
  input: readonly string[];
  output: readonly string[];
  attribute?: readonly AttributeProto[];
}

/** A constant tensor: its bytes, or where they lie. */
export interface TensorProto {
  name: string;
  dims: readonly number[];
  dataType: number;
  rawData?: Uint8Array;
  dataLocation?: number;
  externalData?: readonly { key: string; value: string }[];
}

/** Name, type and shape of a graph's input or output. */
export interface ValueInfoProto {
  name: string;
  type: {
    tensorType: { elemType: number; shape: { dim: readonly { dimValue?: number; dimParam?: string }[] } };
  };
}

/** A model as it is stored. */
export interface ModelProto {
  irVersion: number;
  producerName: string;
  producerVersion?: string;
  opsetImport: readonly { domain: string; version: number }[];
  metadataProps: readonly { key: string; value: string }[];
  graph: {
    name: string;
    node: readonly NodeProto[];
    initializer: readonly TensorProto[];
    input: readonly ValueInfoProto[];
    output: readonly ValueInfoProto[];
  };
}

const root = protobuf.Root.fromJSON({ nested: { onnx: { nested: MESSAGES } } });
const modelType = root.lookupType("onnx.ModelProto");

/** A model as bytes of the ONNX format. */
export function encodeModel(model: ModelProto): Uint8Array {
  return modelType.encode(modelType.fromObject(model)).finish();
}

/**
 * Bytes of the ONNX format as a model; missing lists are empty.
 *
 * @throws RangeError or Error for damaged bytes
 */
export function decodeModel(bytes: Uint8Array): ModelProto {
  const options = { longs: Number, arrays: true, defaults: false };
  return modelType.toObject(modelType.decode(bytes), options) as ModelProto;
}

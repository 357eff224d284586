import { testWrongArguments } from "../../../tooling/testing/wrong-arguments";
import * as vae from "../src/index";

testWrongArguments(vae, [
  { reason: "They take no arguments.", names: ["availableBytes", "freeHostBytes"] },
  {
    reason: "They are private: public static methods open autoencoders.",
    names: ["new SvdAutoencoder", "SvdAutoencoder.make", "new CausalVideoAutoencoder", "new TinyAutoencoder"],
    ends: "apart",
  },
  {
    reason: "All options have defaults: the published model's size takes seconds.",
    names: ["CausalVideoAutoencoder.withRandomWeights"],
    given: ["nothing", "{}"],
    ends: "apart",
  },
  { reason: "All fields have defaults.", names: ["parseVaeConfig", "parsePictureVaeConfig"], given: ["{}"] },
  { reason: "Pieces of which nothing is said are one: the whole.", names: ["describePieces"], given: ["{}"] },
  { reason: "Any name has a form of today.", names: ["currentVaeName"], given: ["a text"] },
  { reason: "Whether something lies at the path shows in the loop.", names: ["createFrameLoader"], given: ["a text"] },
  { reason: "The platform has a default, and may be any.", names: ["optimalNumWorkers"], given: ["nothing", "a text"] },
]);

import oneBall from "@vd/model-tiny-svd/samples/one-ball.png";
import oneBallPinwheel from "@vd/model-tiny-svd/samples/one-ball-pinwheel.png";
import twoBalls from "@vd/model-tiny-svd/samples/two-balls.png";
import twoBallsPinwheel from "@vd/model-tiny-svd/samples/two-balls-pinwheel.png";

/** Pictures of the bundled model's own world, to begin with. */
export const SAMPLES = [
  { name: "one-ball.png", title: "One ball", url: oneBall },
  { name: "two-balls.png", title: "Two balls", url: twoBalls },
  { name: "one-ball-pinwheel.png", title: "Ball and pinwheel", url: oneBallPinwheel },
  { name: "two-balls-pinwheel.png", title: "Balls and pinwheel", url: twoBallsPinwheel },
] as const;

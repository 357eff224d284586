/** A form that posts a picture to the route handler. */
export default function Page() {
  return (
    <form action="/api/video" method="post" encType="multipart/form-data">
      <input type="file" name="picture" accept="image/*" required />
      <button type="submit">Make a video</button>
    </form>
  );
}

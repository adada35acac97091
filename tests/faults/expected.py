"""How each real document ends that does not end as done: by what it is, seen by looking at it, not by asking.

Paths are below CLOISTER_DATA/documents, and text recognition is off. What is not named here is read, or has the bytes
of another. `python -m tests.faults.night --folder "$CLOISTER_DATA/documents"` holds the program to it.
"""

READ = frozenset({"done", "abstained", "duplicate"})

# Opened only with a password that is not empty, or with a key. An owner's password alone keeps nobody from reading.
_ENCRYPTED = """
docling/pdf_password/sources/2206.01062_pg3.pdf
pdfplumber/password-example.pdf
py-pdf-sample-files/libreoffice-writer-password.pdf
pypdf/encrypted-file.pdf
pypdf/encryption/r2-user-password.pdf
pypdf/encryption/r3-user-password.pdf
pypdf/encryption/r4-aes-user-password.pdf
pypdf/encryption/r4-user-password.pdf
pypdf/encryption/r5-user-password.pdf
pypdf/encryption/r6-both-passwords.pdf
pypdf/encryption/r6-user-password.pdf
tika/password.xls
tika/protectedFile.xlsx
tika/testEXCEL_protected_passtika.xlsx
tika/testEXCEL_protected_passtika_2.xlsx
tika/testMicrosoftIRMServices.pdf!/MicrosoftIRMServices Protected PDF.pdf
tika/testODTEncrypted.odt
tika/testPDF_no_extract_no_accessibility_owner_user.pdf
tika/testPGPEncrypted.gpg
tika/testPPT_protected_passtika.pptx
tika/testPassword4Spaces.pdf
tika/testRFC822_encrypted_zip!/test.zip
tika/testUnicodePassword.pdf
tika/testWORD_protected_passtika.doc
tika/testWORD_protected_passtika.docx
tika/testZipEncrypted.zip!/encrypted.txt
"""

# Pictures without a text, and pages that are one: scans, drawings, photographs.
_PICTURES = """
docling/html/sources/example_image_01.png
docling/ocr/sources/ocr_test.pdf
docling/ocr/sources/ocr_test_rotated_180.pdf
docling/ocr/sources/ocr_test_rotated_270.pdf
docling/ocr/sources/ocr_test_rotated_90.pdf
docling/ocr/sources/qr_bill_example.jpg
docling/ocr/sources/sample_with_rotation_mismatch.pdf
docling/tiff/sources/2206.01062.tif
docling/webp/sources/webp-test.webp
py-pdf-sample-files/grayscale-image.pdf
py-pdf-sample-files/imagemagick-ASCII85Decode.pdf
py-pdf-sample-files/imagemagick-CCITTFaxDecode.pdf
py-pdf-sample-files/imagemagick-lzw.pdf
py-pdf-sample-files/smile-deflate.tiff
py-pdf-sample-files/smile-lzw.tiff
py-pdf-sample-files/smile-pack-bits.tiff
py-pdf-sample-files/smile.tiff
py-pdf-sample-files/with-attachment.pdf!/image.png
pypdf/git.pdf
tika/droste.zip!/droste.jpg
tika/test-outlook2003.msg!/1.jpg
tika/test-outlook2003.msg!/10.jpg
tika/test-outlook2003.msg!/12.jpg
tika/test-outlook2003.msg!/2.jpg
tika/test-outlook2003.msg!/3.jpg
tika/test-outlook2003.msg!/4.jpg
tika/test-outlook2003.msg!/5.jpg
tika/test-outlook2003.msg!/6.jpg
tika/test-outlook2003.msg!/7.jpg
tika/test-outlook2003.msg!/8.jpg
tika/test-outlook2003.msg!/9.jpg
tika/testOCR.531e08.pdf
tika/testOCR.pdf
tika/testTIFF.tif
tika/testTIFF_multipage.tif
"""

# The same, with something beside it: three numbers on a scan; the word "Background" below a picture; a page between
# two blank ones.
_NEARLY_PICTURES = """
pdfplumber/malformed-from-issue-932.pdf
py-pdf-sample-files/imagemagick-images.pdf
pypdf/encrypted_doc_no_id.pdf
"""

# A word, and beside it another in a font that does not say which characters it shows.
_FONTS = """
py-pdf-sample-files/habibi-oneline-cmap.pdf
py-pdf-sample-files/habibi-rotated.pdf
py-pdf-sample-files/habibi.pdf
"""

# No bytes; pages with nothing on them; a script and a malformed form on such pages; a drawing of bare shapes; a Word
# document of which every letter was deleted or moved away; RTF that holds a picture of ten bytes.
_EMPTY = """
pdfplumber/empty.pdf
pdfplumber/issue-297-example.pdf
tika/gbk.zip!/审计压缩包文件检索测试/集团邮件审计系统2021年自动巡检需求文档_V4.0.doc
tika/testBinControlWord.rtf
tika/testOpenOfficeInAZip.zip!/ScaleRectangleAndLine.odp
tika/testPDF_jsActionOnPage.pdf
tika/testPDF_malformedXFA.pdf
tika/testWORD_missing_ooxml_bean1.docx
"""

# Cut off (XML, ZIP), a directory that lies, 26 bytes that are called a PDF, a text after 1,070 zero bytes.
_CORRUPT = """
docling/email/sources/msg_with_attachment.msg!/report.pdf
encodings/ascii/_mozilla_bug638318_text.html
encodings/iso-8859-5-bulgarian/bbc.co.uk.popshow.xml
tika/testWORD_truncated.docx
tika/testZIP_corrupted_oom.zip
"""

# Older than Word 97 and Excel 97, or of no office: WordPerfect 4.2, iWork, EBCDIC records, a program, a
# picture of DICOM.
_OTHER_FORMATS = """
docling/ebcdic/sources/311_calls_for_service.ebc
docling/ebcdic/sources/gas_disposition.ebc
docling/ebcdic/sources/ola013k.ebc
docling/pages/sources/pages_2013.pages
docling/pages/sources/pages_iwork09.pages
docling/pages/sources/pages_password_protected.pages
reports/1-text/dicom.dcm
tika/testEXCEL_4.xls
tika/testEXCEL_95.xls
tika/testPagesPwdProtected.pages
tika/testWORD6.doc
tika/testWordPerfect_42.doc
tika/test_embedded_zip.pptx!/SendSignal64.zip!/SendSignal64.exe
"""

# 7z, bare LZMA, compress, one volume of several; a password inside makes no difference, for none is opened at all.
_OTHER_ARCHIVES = """
tika/full_encrypted.7z
tika/test-documents-spanned.zip
tika/test-documents.7z
tika/test7Z_protected_passTika.7z
tika/testLZMA_oom
tika/testZ_oom.Z
"""

# Texts in encodings of which there is no table: EUC-TW, Arabic EBCDIC (code page 420).
_OTHER_ENCODINGS = """
encodings/EUC-TW/_ude_euc-tw1.txt
tika/test_ignore_IBM420.2aecab.html
tika/test_ignore_IBM420.html
"""

# What is stored says something else than what is shown: a number format that writes "1.1" for 1, a result unlike its
# formula; a cipher beside text; two alternatives of a mail that say different things. Text that is drawn as areas.
_REVIEW = """
docling/xlsx/sources/xlsx_07_gap_tolerance_.xlsx
reports/1-text/escapes.xlsx
reports/2-mail/pgp_after.eml
reports/1-text/outlines_mix.pdf
tika/testMBOX_complex.mbox!/0001 xxxxxxx.eml
tika/testRFC822_multipart_attachments.eml
"""

# It cannot be told whether a person sees some of the text: drawings and shapes that may lie over it, boxes that are not
# in their place, closed details, HTML in Markdown, mails in RTF that was made of HTML.
_DOUBTFUL = """
docling/docx/sources/drawingml.docx
docling/docx/sources/textbox.docx
docling/docx/sources/word_image_anchors.docx
docling/html/sources/wiki_duck.html
docling/md/sources/signature_stamp_01.md
docling/odf/sources/odf_presentation_01.odp
docling/pptx/sources/powerpoint_sample.pptx
reports/1-text/mathml_ruby_misc.html
tika/EmbeddedOutlook.docx!/licensedTestMsgwAtt.msg
tika/test-outlook2003.msg
tika/testRTFVarious.rtf
tika/testWORD_various.docx
tika/test_embedded_zip.pptx
"""

GROUPS = (
    ("encrypted", _ENCRYPTED),
    ("needs_ocr", _PICTURES + _NEARLY_PICTURES + _FONTS),
    ("empty", _EMPTY),
    ("corrupt", _CORRUPT),
    ("review", _REVIEW + _DOUBTFUL),
    ("unsupported", _OTHER_FORMATS + _OTHER_ARCHIVES + _OTHER_ENCODINGS),
)
EXPECTED = {path: failure for failure, paths in GROUPS for path in paths.split("\n") if path}
"""Path -> the failure that it is, or `review`."""
